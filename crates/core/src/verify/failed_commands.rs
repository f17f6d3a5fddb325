//! Commands whose last run failed and that the output does not mention.

use super::command_claim::CommandClaim;
use super::command_text::is_question;
use super::finding::Finding;
use super::later_edits::LaterEdits;
use super::output_claims::OutputClaims;
use super::recorded_runs::{RecordedRun, RecordedRuns};
use super::runner::TestCommands;
use super::shell::{CommandUse, Script};
use super::statement::{Act, Meaning, Statement};
use super::test_doubt::is_open_failure;
use crate::evidence::{CheckDetail, Invocation};
use kb_language::definition::ClaimPolicy;
use serde_json::json;

/// Maximum number of failed commands that are listed.
const LISTED: usize = 5;
/// Words for commands that check the work.
const CHECKS: [&str; 8] =
    ["command", "commands", "check", "checks", "build", "lint", "команда", "сборка"];
/// Characters of a command in its detail.
const SHOWN: usize = 120;

/// The details of failed commands. A check of the project that failed on the files as the step left them, and a failure of
/// the last command of all, raise doubt. Others lower no verdict, because work with commands contains failed ones.
pub(super) fn failed_commands(
    claims: &OutputClaims,
    runs: &RecordedRuns<'_>,
    commands: &TestCommands,
    edits: &LaterEdits<'_>,
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
    // What the step changed later can be what the failure was about.
    let is_last = |at: usize| {
        let later = &edits.trace[at + 1..];
        later.iter().all(|call| call.changes.is_empty() && call.process.is_none())
    };
    let reports = |run: &RecordedRun<'_>| run.tests.map_or(0, |tests| tests.failed);
    let failed =
        runs.iter().filter(|run| run.exit_code().is_some_and(|code| code != 0) || reports(run) > 0);
    let unmentioned = failed.filter_map(|run| {
        let (own, code) = (&run.script, run.exit_code()?);
        let is_repeated = runs.iter().any(|later| later.at > run.at && later.script == *own);
        let asks = |used: &CommandUse| code == 1 && is_question(&used.argv.join(" "));
        let asks = own.commands.iter().any(asks);
        let text = shown(own);
        if text.is_empty() || is_repeated || asks || is_claimed(own) {
            return None;
        }
        let is_open = |used: &&CommandUse| is_open_failure(run, used, runs, commands, edits);
        let is_idle = own.commands.iter().all(CommandUse::is_neutral);
        let counts = own.commands.iter().any(|used| is_open(&used))
            || code != 0 && is_last(run.at) && !is_idle && own.unparsed.is_none();
        let how = match (code, reports(run)) {
            (0, failed) => format!("reports {failed} failed tests"),
            (code, _) => format!("exited with code {code}"),
        };
        let reason = format!("its last run {how}, and no claim mentions it");
        let finding = match counts && !tells_failure(own) {
            true => Finding::inconclusive(reason).under(policy),
            false => Finding::unchecked(reason),
        };
        let evidence = json!({"calls": [run.call.id], "exitCode": code});
        Some(finding.into_detail(format!("command {text}"), Some(evidence)))
    });
    let mut found: Vec<CheckDetail> = unmentioned.collect();
    // The last ones say most about the files as they are.
    found.drain(..found.len().saturating_sub(LISTED));
    found
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

/// Whether a command of a step exited with another code than 0, or printed that tests failed.
pub(super) fn has_failed(trace: &[Invocation]) -> bool {
    trace.iter().filter_map(|call| call.process.as_ref()).any(|process| {
        process.exit_code.is_some_and(|code| code != 0)
            || process.tests.is_some_and(|tests| tests.failed > 0)
    })
}

fn shown(script: &Script) -> String {
    let text = script.commands.iter().map(|used| used.argv.join(" ")).collect::<Vec<_>>();
    let text = script.unparsed.clone().unwrap_or_else(|| text.join("; "));
    text.chars().take(SHOWN).collect()
}
