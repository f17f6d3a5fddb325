//! Commands whose last run failed and that the output does not mention.

use super::command_claim::CommandClaim;
use super::command_text::is_question;
use super::finding::Finding;
use super::later_edits::LaterEdits;
use super::output_claims::OutputClaims;
use super::recorded_runs::RecordedRuns;
use super::runner::TestCommands;
use super::shell::{CommandUse, Script};
use super::statement::Act;
use super::test_doubt::is_open_failure;
use crate::evidence::{CheckDetail, Invocation};
use kb_language::definition::ClaimPolicy;
use serde_json::json;

/// Maximum number of failed commands that are listed.
const LISTED: usize = 5;
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
    let tells_failure = claims.tests.iter().any(|claim| !claim.passed)
        || claims.statements.iter().any(|said| said.act == Some(Act::Failed));
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
    let failed = runs.iter().filter(|run| run.exit_code().is_some_and(|code| code != 0));
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
            || is_last(run.at) && !is_idle && own.unparsed.is_none();
        let reason = format!("its last run exited with code {code}, and no claim mentions it");
        let finding = match counts && !tells_failure {
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

/// Whether a command of a step exited with another code than 0.
pub(super) fn has_failed(trace: &[Invocation]) -> bool {
    let exit_code = |call: &Invocation| call.process.as_ref().and_then(|process| process.exit_code);
    trace.iter().filter_map(exit_code).any(|code| code != 0)
}

fn shown(script: &Script) -> String {
    let text = script.commands.iter().map(|used| used.argv.join(" ")).collect::<Vec<_>>();
    let text = script.unparsed.clone().unwrap_or_else(|| text.join("; "));
    text.chars().take(SHOWN).collect()
}
