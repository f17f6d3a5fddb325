//! Lists of commands that an output claims to have run.

use super::command_claim::CommandClaim;
use super::finding::Finding;
use super::own_record::without_own;
use super::recorded_runs::{RecordedRun, RecordedRuns};
use super::runner::canonical;
use super::shell::CommandUse;
use crate::evidence::Verdict;

/// The claims of lists, each once.
pub(super) fn once(lists: &[Vec<CommandClaim>]) -> Vec<CommandClaim> {
    let mut claims: Vec<CommandClaim> = Vec::new();
    for claim in lists.iter().flatten() {
        if !claims.iter().any(|known| known.is_same(claim)) {
            claims.push(claim.clone());
        }
    }
    claims
}

/// The doubt about a list that has more entries than recorded commands that fit them.
pub(super) fn surplus(lists: &[Vec<CommandClaim>], runs: &RecordedRuns<'_>) -> Option<Finding> {
    let used = || runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
    lists.iter().find_map(|claims| {
        let options = |claim: &CommandClaim| -> Vec<usize> {
            let wanted = claim.only_command().map(canonical);
            let fits = |(run, used): (&RecordedRun<'_>, &CommandUse)| {
                let is_same = wanted.as_ref() == Some(&canonical(&used.argv));
                let name = used.argv.join(" ");
                is_same
                    && claim.verdict(&name, run, run.result(used), false).verdict == Verdict::Passed
            };
            used().enumerate().filter(|(_, own)| fits(*own)).map(|(at, _)| at).collect()
        };
        let text = &without_own(claims, options)?.text;
        Some(Finding::inconclusive(format!(
            "`{text}` is listed more often than such a command was recorded"
        )))
    })
}
