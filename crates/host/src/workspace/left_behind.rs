//! What attempts left in the files of a workspace: compared with the state before the step.

use super::path_guard::Workspace;
use super::path_text::unescaped;
use super::protected_watch::{self, is_not_compared, look, not_compared};
use super::state_before::{FoundChanges, StateBefore, StoredProtected, StoredState};
use kb_base::value::Timestamp;
use kb_core::evidence::{Change, FileKind, FileState};
use kb_core::redaction::Redactor;

/// Time from the last sign of life of a killed process, or from the moment in which its end was noticed, to the end
/// of its work, at most.
const SLACK_NS: i64 = 2_000_000_000;
/// In place of a path: what is stored of the time before cannot be read.
const UNREADABLE: &str = "protected paths whose earlier state cannot be read";

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
    pub(crate) fn protected_left_by_killed(&self, before: &StateBefore) -> Vec<Change> {
        let own = |found: &FoundChanges| found.place == before.place(self.root());
        let found = match before.found() {
            Ok(found) => {
                let here = found.into_iter().filter(own).flat_map(|found| found.changes).collect();
                self.not_undone(here)
            }
            Err(_) => vec![not_compared(UNREADABLE)],
        };
        let left = match before.stored_protected() {
            Ok(stored) => stored.map(|stored| self.left_of_protected(&stored)).unwrap_or_default(),
            Err(_) => vec![not_compared(UNREADABLE)],
        };
        found.into_iter().chain(left).collect()
    }

    /// The changes of protected paths since a command started. It continues while `kb` is stopped, and it is not known when
    /// a killed `kb` was: all changes until its end was noticed count.
    pub(super) fn left_of_protected(&self, stored: &StoredProtected) -> Vec<Change> {
        let mut changes = self.protected_changes(stored);
        changes.retain(|change| stored.noticed.is_none_or(|end| is_before(change, end)));
        changes
    }

    /// Those of these changes whose paths are not as they were before, with their present states. Blocks.
    pub(super) fn not_undone(&self, changes: Vec<Change>) -> Vec<Change> {
        if changes.is_empty() {
            return changes;
        }
        // Each file is compared, whatever the settings name now.
        let is_file = |change: &&Change| {
            change.after.as_ref().is_none_or(|after| after.kind != FileKind::Directory)
        };
        let files = changes.iter().filter(is_file);
        let paths: Vec<String> = files.map(|change| change.path.clone()).collect();
        let (now, _) = look(self, &paths, true);
        let left = changes.into_iter().filter_map(|change| {
            if now.truncated || is_not_compared(&change) {
                return Some(change);
            }
            let after = now.files.get(&change.path);
            let is_undone = match (&change.before, after) {
                (None, None) => true,
                (Some(before), Some(after)) => protected_watch::is_same(before, after),
                (Some(_), None) | (None, Some(_)) => false,
            };
            let Change { path, before, .. } = change;
            (!is_undone).then(|| Change::new(path, before, after.cloned()))
        });
        left.collect()
    }

    /// Whether a change is one of protected paths. A folder among compared files stands for what could not be compared.
    pub(crate) fn is_of_protected(&self, change: &Change) -> bool {
        let states = [&change.before, &change.after].into_iter().flatten();
        states.into_iter().any(|state| state.kind == FileKind::Directory)
            || self.check_writable(&change.path, &unescaped(&change.path)).is_err()
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
