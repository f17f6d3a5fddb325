//! Commands whose last run failed and that the output does not mention.

use super::command_claim::CommandClaim;
use super::command_text::{is_question, only_looks};
use super::finding::Finding;
use super::output_claims::OutputClaims;
use super::recorded_runs::{CommandResult, RecordedRun, RecordedRuns};
use super::runner::{TestCommands, executes_project};
use super::shell::{CommandUse, Script};
use super::statement::{Act, Meaning, Statement};
use super::test_doubt::{is_part_of_later, is_unrepeated_failure};
use crate::evidence::CheckDetail;
use kb_language::definition::ClaimPolicy;
use serde_json::json;

/// Maximum number of failed commands that are listed.
const LISTED: usize = 5;
/// Words for commands that check the work.
const CHECKS: [&str; 8] =
    ["command", "commands", "check", "checks", "build", "lint", "команда", "сборка"];
/// Characters of a command in its detail.
const SHOWN: usize = 120;

/// The details of failed commands. One whose last run failed raises doubt, unless it only looks: what it answers is no
/// failure of the work. A failure that the output tells lowers no verdict.
pub(super) fn failed_commands(
    claims: &OutputClaims,
    runs: &RecordedRuns<'_>,
    commands: &TestCommands,
    policy: ClaimPolicy,
) -> Vec<CheckDetail> {
    let tells_failure = |own: &Script| {
        claims.tests.iter().any(|claim| !claim.passed)
            || claims.statements.iter().any(|said| is_about(said, own))
    };
    let is_claimed = |own: &Script| {
        let claimed = |claim: &CommandClaim| {
            claim.only_command().is_some_and(|argv| own.commands.iter().any(|c| c.argv == argv))
        };
        claims.commands.iter().any(claimed)
    };
    let reports = |run: &RecordedRun<'_>| run.tests.map_or(0, |tests| tests.failed);
    let has_failed = |run: &RecordedRun<'_>| run.failure().is_some() || reports(run) > 0;
    let unmentioned = runs.iter().filter_map(|run| {
        if !has_failed(run) {
            let (used, why) = hidden_check(run, runs, commands)?;
            let is_compared = !claims.tests.is_empty() && decides_alone(used, runs, commands);
            if is_compared || is_claimed(&run.script) || tells_failure(&run.script) {
                return None;
            }
            let (text, call) = (used.argv.join(" "), &run.call.id);
            let reason = format!("its result in call `{call}` is not known, because {why}");
            let finding = Finding::inconclusive(reason).under(policy);
            let evidence = json!({"calls": [call]});
            return Some(finding.into_detail(format!("command {text}"), Some(evidence)));
        }
        let (own, failure) = (&run.script, run.failure());
        let text = shown(own);
        let looks = |used: &CommandUse| only_looks(&used.argv);
        let is_repeated = runs.iter().any(|later| later.at > run.at && later.script == *own);
        let asks = run.exit_code() == Some(1)
            && own.commands.iter().any(|own| is_question(&own.argv.join(" ")));
        if text.is_empty() || asks || is_repeated || is_claimed(own) {
            return None;
        }
        let is_open = |used: &CommandUse| match commands.contains(&used.argv) {
            true => is_unrepeated_failure(run, used, runs, commands),
            false => !used.is_neutral() && !looks(used) && !succeeds_later(run, used, runs),
        };
        let is_killed = run.exit_code().is_none();
        let counts = failure.is_some() && (is_killed || own.unparsed.is_some())
            || own.commands.iter().any(is_open);
        let how = failure.unwrap_or_else(|| format!("reports {} failed tests", reports(run)));
        let reason = format!("its last run {how}, and no claim mentions it");
        let finding = match counts && !tells_failure(own) {
            true => Finding::inconclusive(reason).under(policy),
            false => Finding::unchecked(reason),
        };
        let evidence = json!({"calls": [run.call.id], "exitCode": run.exit_code()});
        Some(finding.into_detail(format!("command {text}"), Some(evidence)))
    });
    let mut found: Vec<CheckDetail> = unmentioned.collect();
    // The last ones say most about the files as they are.
    found.drain(..found.len().saturating_sub(LISTED));
    found
}

/// A check of the project whose exit code the script hides, and that no later run with a known result repeats; and what hides it.
fn hidden_check<'r>(
    run: &'r RecordedRun<'_>,
    runs: &RecordedRuns<'_>,
    commands: &TestCommands,
) -> Option<(&'r CommandUse, &'static str)> {
    let shows_success = run.tests.is_some_and(|counts| counts.failed == 0 && counts.ran() > 0);
    let is_known = |used: &CommandUse| {
        let mut later = runs.iter().filter(|later| later.at >= run.at);
        later.any(|later| {
            let mut same = later.script.commands.iter().filter(|own| own.argv == used.argv);
            same.any(|own| !is_hidden(later, own))
        }) || is_part_of_later(run, used, runs, commands)
    };
    run.script.commands.iter().find_map(|used| {
        let is_check = commands.contains(&used.argv) || executes_project(&used.argv);
        match run.result(used) {
            CommandResult::Masked(why) if is_check && !shows_success && !is_known(used) => {
                Some((used, why))
            }
            _ => None,
        }
    })
}

/// Whether a claimed result of tests is compared with a run of them, because no other run has a known result.
fn decides_alone(used: &CommandUse, runs: &RecordedRuns<'_>, commands: &TestCommands) -> bool {
    let is_test = |own: &&CommandUse| commands.contains(&own.argv);
    let mut tests = runs
        .iter()
        .flat_map(|run| run.script.commands.iter().filter(is_test).map(move |own| (run, own)));
    is_test(&used) && tests.all(|(run, own)| is_hidden(run, own))
}

fn is_hidden(run: &RecordedRun<'_>, used: &CommandUse) -> bool {
    matches!(run.result(used), CommandResult::Masked(_))
}

/// Whether a statement tells the failure of a check, and not one that the work is about (`Login fails with 401 now`).
fn is_about(said: &Statement, own: &Script) -> bool {
    let sentence = &said.sentence;
    let names = |used: &CommandUse| {
        let parts = used.argv.iter().flat_map(|word| word.split(|c: char| !c.is_alphanumeric()));
        let mut parts = parts.filter(|part| part.len() > 2).map(str::to_lowercase);
        parts.any(|part| sentence.words.contains(&part))
    };
    said.act == Some(Act::Failed)
        && (sentence.has(Meaning::Tests)
            || sentence.code().next().is_some()
            || sentence.words.iter().any(|word| CHECKS.contains(&word.as_str()))
            || own.commands.iter().any(names))
}

/// Whether a later run of the same program with the same first operand succeeded: `npm install x`, then `npm install y`.
fn succeeds_later(run: &RecordedRun<'_>, used: &CommandUse, runs: &RecordedRuns<'_>) -> bool {
    let what = |used: &CommandUse| {
        let operand = used.argv.iter().skip(1).find(|word| !word.starts_with('-'));
        (used.argv[0].clone(), operand.cloned())
    };
    let mut later = runs.iter().filter(|later| later.at > run.at);
    later.any(|later| {
        let succeeded = |own: &&CommandUse| later.result(own) == CommandResult::Succeeded;
        later.script.commands.iter().filter(succeeded).any(|own| what(own) == what(used))
    })
}

fn shown(script: &Script) -> String {
    let text = script.commands.iter().map(|used| used.argv.join(" ")).collect::<Vec<_>>();
    let text = script.unparsed.clone().unwrap_or_else(|| text.join("; "));
    text.chars().take(SHOWN).collect()
}
