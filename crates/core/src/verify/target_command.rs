//! Commands behind a name: who ran `make test` ran the recipe of that target, who ran `npm run lint` that script of
//! `package.json`.

use super::executed_scripts::{is_in_file, word_pattern};
use super::observation::ObservationQuery;
use super::recorded_runs::{CommandRecord, CommandResult, RecordedRun};
use super::shell::{CommandUse, Script};
use super::whole_run::folder_of;
use crate::evidence::Invocation;

/// The file that defines what a command executes, and the pattern of a definition whose failure is that of the claimed
/// command; `None` if the command has no such name.
fn definition(argv: &[String], claimed: &[String]) -> Option<(&'static str, String)> {
    let is_name = |name: &&str| {
        !name.starts_with('-') && name.chars().all(|c| c.is_alphanumeric() || "_.:-".contains(c))
    };
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let words_of = |between: &str| {
        claimed.iter().map(|word| word_pattern(word)).collect::<Vec<_>>().join(between)
    };
    let (file, name) = match words.as_slice() {
        ["make", target] => ("Makefile", target),
        ["npm" | "pnpm" | "yarn" | "bun", "run" | "run-script", script] => ("package.json", script),
        ["npm" | "pnpm" | "yarn", "t" | "tst"] => ("package.json", &"test"),
        ["npm" | "pnpm" | "yarn", script @ "test"] => ("package.json", script),
        _ => return None,
    };
    let name = Some(*name).filter(is_name).map(regex::escape)?;
    let pattern = match file {
        "Makefile" => format!(
            r"(?m)^{name}[ \t]*:(?:[^=\n].*)?\n(?:\t.*\n)*?\t@?{}[ \t]*$",
            words_of(r"[ \t]+")
        ),
        _ => format!(r#""{name}"\s*:\s*"{}""#, words_of(" ")),
    };
    Some((file, pattern))
}

fn query(argv: &[String], claimed: &[String]) -> Option<(&'static str, ObservationQuery)> {
    let (file, pattern) = definition(argv, claimed)?;
    Some((file, ObservationQuery::Files { pattern: file.to_owned(), count: Some(pattern) }))
}

/// The queries whether the targets and scripts that the step ran have the claimed commands.
pub(super) fn target_queries<'c>(
    claimed: impl Iterator<Item = &'c [String]>,
    trace: &[Invocation],
) -> Vec<ObservationQuery> {
    let ran: Vec<CommandUse> =
        trace.iter().filter_map(Script::of_call).flat_map(|script| script.commands).collect();
    let pairs = claimed.flat_map(|claimed| ran.iter().map(move |ran| (ran, claimed)));
    pairs.filter_map(|(ran, claimed)| Some(query(&ran.argv, claimed)?.1)).collect()
}

/// The last recorded run that succeeded of a target or script that has the claimed command, in the folder of the step. A
/// file that the step changed shows nothing.
pub(super) fn behind_target<'r>(
    claimed: &[String],
    record: &CommandRecord<'r>,
) -> Option<&'r RecordedRun<'r>> {
    let changed = |file: &str| {
        record.trace.iter().flat_map(|call| &call.changes).any(|change| change.path == file)
    };
    let has_it = |run: &RecordedRun<'_>, used: &CommandUse| {
        let Some((file, query)) = query(&used.argv, claimed) else { return false };
        is_in_file(&query, record.observations)
            && !changed(file)
            && folder_of(run, used, record.root).is_some_and(|folder| folder.is_empty())
    };
    record.runs.iter().rev().find(|run| {
        let mut used = run.script.commands.iter();
        used.any(|used| run.result(used) == CommandResult::Succeeded && has_it(run, used))
    })
}
