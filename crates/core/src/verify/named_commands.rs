//! Commands behind a name: who ran `make test` ran the recipe of that target, who ran `npm run lint` that script of
//! `package.json`. The step that changes a file which they execute decides what the command does.

use super::finding::Finding;
use super::observation::{Observation, ObservationQuery, Observations};
use super::recorded_runs::{CommandRecord, CommandResult, RecordedRun};
use super::runner::is_name;
use super::shell::{CommandUse, Script};
use crate::evidence::Invocation;

const MAKE: &str = "Makefile";
const PACKAGE: &str = "package.json";
/// Most queries of one gate for files that such commands execute.
const EXECUTED: usize = 200;

/// The file that defines what a command executes, if it is one of a target or a script.
pub(super) fn definition_file(argv: &[String]) -> Option<&'static str> {
    match argv.first()?.as_str() {
        "make" => Some(MAKE),
        "npm" | "pnpm" | "yarn" | "bun" => Some(PACKAGE),
        _ => None,
    }
}

/// Whether a path is such a file of the folder of the step.
pub(super) fn is_definition_file(path: &str) -> bool {
    [MAKE, PACKAGE].contains(&path)
}

/// Whether a file was observed to have the text that a query counts.
pub(super) fn is_in_file(query: &ObservationQuery, observations: &Observations) -> bool {
    let Some(Observation::Files(Ok(found))) = observations.get(query) else { return false };
    found.iter().any(|file| file.occurrences.is_some_and(|count| count > 0))
}

/// The pattern of a word of a command: `python3` is `python`.
pub(super) fn word_pattern(word: &str) -> String {
    match word {
        "python" | "python3" => "python3?".to_owned(),
        word => regex::escape(word),
    }
}

fn in_file(file: &str, pattern: String) -> ObservationQuery {
    ObservationQuery::Files { pattern: file.to_owned(), count: Some(pattern) }
}

/// The pattern of a target with a line in its recipe.
fn target(name: &str, line: &str) -> String {
    format!(r"(?m)^{name}[ \t]*:(?:[^=\n].*)?\n(?:\t.*\n)*?\t{line}")
}

fn is_shell(path: &str) -> bool {
    [".sh", ".bash"].iter().any(|end| path.ends_with(end))
}

/// The query whether the definition of a target or script names a file of the project that it executes. Another file than a
/// script of a shell can be the work that another target starts: only the target itself counts then.
pub(super) fn executes_query(argv: &[String], path: &str) -> Option<ObservationQuery> {
    let file = definition_file(argv).filter(|file| *file != path)?;
    let name =
        argv.iter().skip(1).rfind(|word| !word.starts_with('-')).map(|word| regex::escape(word));
    let path_of = regex::escape(path);
    let is_shell = is_shell(path);
    let line = format!(r".*\b{path_of}\b");
    let script = format!(r#":\s*"(?:[^"]*[\s/])?{path_of}\b[^"]*""#);
    let pattern = match (file == MAKE, is_shell, name) {
        (true, true, _) => format!(r"(?m)^\t{line}"),
        (true, false, Some(name)) => target(&name, &line),
        (false, true, _) => script,
        (false, false, Some(name)) => format!(r#""{name}"\s*{script}"#),
        (_, false, None) => return None,
    };
    Some(in_file(file, pattern))
}

/// The queries for commands and the files that the step changed.
pub(super) fn executes_queries<'a>(
    commands: &'a [Vec<String>],
    changed: &'a [&'a str],
) -> impl Iterator<Item = ObservationQuery> + 'a {
    let pairs = commands.iter().flat_map(|argv| changed.iter().map(move |path| (argv, *path)));
    pairs.filter_map(|(argv, path)| executes_query(argv, path)).take(EXECUTED)
}

/// The file that defines what a command executes, and the query for a definition whose failure is that of the claimed
/// command; `None` if the command has no such name.
fn has_query(argv: &[String], claimed: &[String]) -> Option<(&'static str, ObservationQuery)> {
    let is_name = |name: &&str| {
        !name.starts_with('-') && name.chars().all(|c| c.is_alphanumeric() || "_.:-".contains(c))
    };
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let words_of = |between: &str| {
        claimed.iter().map(|word| word_pattern(word)).collect::<Vec<_>>().join(between)
    };
    let name = match words.as_slice() {
        ["make", target] => target,
        ["npm" | "pnpm" | "yarn" | "bun", "run" | "run-script", script] => script,
        ["npm" | "pnpm" | "yarn", "t" | "tst" | "test"] => "test",
        _ => return None,
    };
    let name = Some(name).filter(is_name).map(regex::escape)?;
    let file = definition_file(argv)?;
    let pattern = if file == MAKE {
        target(&name, &format!(r"@?{}[ \t]*$", words_of(r"[ \t]+")))
    } else {
        format!(r#""{name}"\s*:\s*"{}""#, words_of(" "))
    };
    Some((file, in_file(file, pattern)))
}

/// The queries whether the targets and scripts that the step ran have the claimed commands.
pub(super) fn target_queries<'c>(
    claimed: impl Iterator<Item = &'c [String]>,
    trace: &[Invocation],
) -> Vec<ObservationQuery> {
    let ran: Vec<CommandUse> =
        trace.iter().filter_map(Script::of_call).flat_map(|script| script.commands).collect();
    let pairs = claimed.flat_map(|claimed| ran.iter().map(move |ran| (ran, claimed)));
    pairs.filter_map(|(ran, claimed)| Some(has_query(&ran.argv, claimed)?.1)).collect()
}

/// The last recorded run that succeeded of a target or script whose definition has the claimed command, in the folder of the
/// step. Whether the command itself ran is not recorded.
pub(super) fn behind_target<'r>(
    claimed: &[String],
    record: &CommandRecord<'r>,
) -> Option<(&'r RecordedRun<'r>, &'r CommandUse)> {
    let changed = |file: &str| {
        record.trace.iter().flat_map(|call| &call.changes).any(|change| change.path == file)
    };
    let has_it = |run: &RecordedRun<'_>, used: &CommandUse| {
        let Some((file, query)) = has_query(&used.argv, claimed) else { return false };
        is_in_file(&query, record.observations)
            && !changed(file)
            && run.folder_of(used, record.root).is_some_and(|folder| folder.is_empty())
    };
    record.runs.iter().rev().find_map(|run| {
        let mut used = run.script.commands.iter();
        let found =
            used.find(|used| run.result(used) == CommandResult::Succeeded && has_it(run, used))?;
        Some((run, found))
    })
}

/// The verdict over a claimed command that only a target or script has in its definition. It ran if it is a test runner, and the
/// output has its numbers of tests: a runner alone prints them.
pub(super) fn target_finding<'r>(
    claimed: &[String],
    record: &CommandRecord<'r>,
) -> Option<(Finding, &'r RecordedRun<'r>)> {
    let (run, used) = behind_target(claimed, record)?;
    let tests = run.call.process.as_ref().and_then(|process| process.tests);
    let is_runner = claimed.iter().any(|word| is_name(word));
    if is_runner && tests.is_some_and(|tests| tests.ran() > 0) {
        return Some((Finding::passed(), run));
    }
    let finding = Finding::inconclusive(format!(
        "`{}` is claimed to have run; `{}` (call `{}`) has it in its definition, and whether it ran is not recorded",
        claimed.join(" "),
        used.argv.join(" "),
        run.call.id
    ));
    Some((finding, run))
}
