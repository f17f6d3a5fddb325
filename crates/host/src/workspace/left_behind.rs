//! What attempts left in the files of a workspace: compared with the state before the step.

use super::path_guard::Workspace;
use super::state_before::{FoundChanges, StateBefore, StoredProtected, StoredState};
use kb_base::value::Timestamp;
use kb_core::evidence::{Change, FileKind, FileState};
use kb_core::redaction::Redactor;

/// Time from the last sign of life of a killed process, or from the moment in which its end was noticed, to the end
/// of its work, at most.
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

    /// The protected paths that a command changed whose process was killed, with those that were found before. Blocks.
    pub(crate) fn protected_left_by_killed(
        &self,
        before: &StateBefore,
    ) -> std::io::Result<Vec<Change>> {
        let mut changes = before.found()?.map(|found| self.as_left(found)).unwrap_or_default();
        if let Some(stored) = before.stored_protected()? {
            changes.extend(self.left_of_protected(&stored));
        }
        Ok(changes)
    }

    /// The changes of protected paths since a command started. It continues while `kb` is stopped, and it is not known when
    /// a killed `kb` was: all changes until its end was noticed count.
    pub(super) fn left_of_protected(&self, stored: &StoredProtected) -> Vec<Change> {
        let mut changes = self.protected_changes(stored);
        changes.retain(|change| stored.noticed.is_none_or(|end| is_before(change, end)));
        changes
    }

    /// The paths that are still as commands left them.
    pub(super) fn as_left(&self, found: FoundChanges) -> Vec<Change> {
        let is_as_left = |change: &Change| {
            // What cannot be read, or leads out of the project, may be what the command left.
            let Ok(now) = self.symlink_stat(&change.path) else { return true };
            match (&change.after, now) {
                (None, None) => true,
                // What is written to a folder changes its times.
                (Some(after), Some(now)) if after.kind == FileKind::Directory => {
                    (after.kind, after.inode, after.mode) == (now.kind, now.inode, now.mode)
                }
                (Some(after), Some(now)) => after.same_stat(&now),
                (Some(_), None) | (None, Some(_)) => false,
            }
        };
        found.changes.into_iter().filter(is_as_left).collect()
    }
}

/// Whether a change may be that of a process with this last sign of life.
fn is_before(change: &Change, alive: Timestamp) -> bool {
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
