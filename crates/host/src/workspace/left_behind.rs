//! What attempts left in the files of a workspace: compared with the state before the step.

use super::path_guard::Workspace;
use super::state_before::{StateBefore, StoredState};
use kb_base::value::Timestamp;
use kb_core::evidence::{Change, FileKind, FileState};
use kb_core::redaction::Redactor;

/// Time from the last sign of life of a killed process to the end of its work, at most.
const SLACK_NS: i64 = 2_000_000_000;

impl Workspace {
    /// The changes of these that are there: from their state before to the present one. Blocks.
    pub(crate) fn still_changed(&self, recorded: &[Change]) -> Vec<Change> {
        let found = recorded.iter().filter_map(|change| {
            let after = self.file_at(&change.path);
            let change = Change::new(change.path.clone(), change.before.clone(), after);
            (!is_same(&change)).then_some(change)
        });
        found.collect()
    }

    /// What a call changed before its process was killed, with this last sign of life. Later changes are
    /// those of others. An error says that the state before the call is not known. Blocks.
    pub(crate) fn left_by_killed(
        &self,
        before: &StateBefore,
        alive: Timestamp,
        redactor: &Redactor,
    ) -> std::io::Result<Vec<Change>> {
        let Some(stored) = before.stored()? else { return Ok(Vec::new()) };
        let mut changes = match stored {
            StoredState::All { files, racy } => {
                self.changes_with(&files, &self.manifest(), &racy, redactor)
            }
            StoredState::Paths(paths) => {
                let change = |(path, before): (String, Option<FileState>)| {
                    let after = self.file_at(&path);
                    Change::new(path, before, after)
                };
                paths.into_iter().map(change).filter(|change| !is_same(change)).collect()
            }
        };
        changes.retain(|change| is_before(change, alive));
        Ok(changes)
    }

    /// The protected paths that a command changed before its process was killed. Blocks.
    pub(crate) fn protected_left_by_killed(
        &self,
        before: &StateBefore,
        alive: Timestamp,
    ) -> std::io::Result<Vec<Change>> {
        let Some(stored) = before.stored_protected()? else { return Ok(Vec::new()) };
        let mut changes = self.protected_changes(&stored);
        changes.retain(|change| is_before(change, alive));
        Ok(changes)
    }
}

/// Whether a change may be that of a process with this last sign of life.
pub(super) fn is_before(change: &Change, alive: Timestamp) -> bool {
    let end = alive.0.saturating_mul(1_000_000).saturating_add(SLACK_NS);
    change.after.as_ref().is_none_or(|after| after.ctime_ns <= end)
}

/// Whether a path has the content that it had before.
fn is_same(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (None, None) => true,
        (Some(before), Some(after)) => {
            let digests = before.sha256.zip(after.sha256);
            let same =
                digests.map_or_else(|| before.same_stat(after), |(before, after)| before == after);
            let mode = |state: &FileState| (state.kind == FileKind::File).then_some(state.mode);
            before.kind == after.kind && same && mode(before) == mode(after)
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}
