//! What the tool calls and gates of a run tell about files.

use kb_base::value::{Digest, Timestamp};
use kb_core::evidence::{EvidenceKind, FileState, Invocation};
use kb_core::run::InstanceIx;
use kb_core::verify::FileCriterion;
use std::collections::{BTreeMap, BTreeSet};

/// The files of the project as they are now.
pub trait FilesNow {
    /// The digest of a file; `None` if it cannot be read.
    fn digest(&self, path: &str) -> Option<Digest>;
    /// The permission bits of what a path names; `None` if nothing has it.
    fn mode(&self, path: &str) -> Option<u32>;
    /// When what a path names last changed; if nothing has it, when the folder did that had it.
    fn changed_at(&self, path: &str) -> Option<Timestamp>;
    /// Whether files are as a check says, but for changes.
    fn meets(&self, check: &FileCriterion) -> bool;
}

/// A recorded change of a file.
struct FileChange {
    by: InstanceIx,
    /// Digest before it; `None` if the file did not exist, or it is not known.
    before: Option<Digest>,
    /// Permission bits before and after it; `None` if the file did not exist.
    modes: [Option<u32>; 2],
}

/// What the tool calls of a run tell about files.
#[derive(Default)]
pub(super) struct FileFacts {
    /// The digest that each file had at its last recorded read or change; `None` if it was deleted.
    pub(super) last: BTreeMap<String, Option<Digest>>,
    /// Files that an instance read before it changed them itself.
    pub(super) read: BTreeMap<InstanceIx, BTreeSet<String>>,
    /// Files that an instance changed.
    pub(super) written: BTreeMap<InstanceIx, BTreeSet<String>>,
    /// The changes of each file, in order.
    changed: BTreeMap<String, Vec<FileChange>>,
}

impl FileFacts {
    pub(super) fn add(&mut self, ix: InstanceIx, call: &Invocation) {
        let changed = |path: &str| call.changes.iter().any(|change| change.path == path);
        for file in call.evidence.iter().filter(|evidence| evidence.kind == EvidenceKind::File) {
            let (path, Some(digest)) = (&file.reference, file.sha256) else { continue };
            let own = self.written.get(&ix).is_some_and(|written| written.contains(path));
            if !changed(path) {
                self.last.insert(path.clone(), Some(digest));
            }
            if !own && !changed(path) {
                self.read.entry(ix).or_default().insert(path.clone());
            }
        }
        for change in &call.changes {
            let after = change.after.as_ref().and_then(|state| state.sha256);
            if change.after.is_none() || after.is_some() {
                self.last.insert(change.path.clone(), after);
            }
            let before = change.before.as_ref().and_then(|state| state.sha256);
            let mode = |state: &Option<FileState>| state.as_ref().map(|state| state.mode);
            let modes = [mode(&change.before), mode(&change.after)];
            let changes = self.changed.entry(change.path.clone()).or_default();
            changes.push(FileChange { by: ix, before, modes });
            self.written.entry(ix).or_default().insert(change.path.clone());
        }
    }

    /// Whether the changes of a file by an instance were undone: the file is gone, or has the content, or the changed mode, that
    /// it had at some time before the first of them. `last` is the digest of its last recorded content.
    pub(super) fn is_undone(
        &self,
        ix: InstanceIx,
        path: &str,
        last: Option<Digest>,
        now: &dyn FilesNow,
    ) -> bool {
        let changes = self.changed.get(path).map(Vec::as_slice).unwrap_or_default();
        let Some(first) = changes.iter().position(|change| change.by == ix) else { return false };
        let mode_after = changes.last().and_then(|change| change.modes[1]);
        let Some(mode) = now.mode(path) else { return mode_after.is_some() };
        let digest = now.digest(path);
        changes[..=first].iter().any(|change| {
            let [mode_before, _] = change.modes;
            let content = change.before.is_some() && last != change.before;
            let has_mode_of_before = mode_before == Some(mode) && mode_after != mode_before;
            content && digest == change.before
                || has_mode_of_before && mode_after.is_some() && !content
        })
    }
}
