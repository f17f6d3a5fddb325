//! What the tool calls and gates of a run tell about files.

use kb_base::value::Digest;
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
    /// Whether files are as a check says, but for changes.
    fn meets(&self, check: &FileCriterion) -> bool;
}

/// A file that a run changed.
pub(super) struct FileChange {
    /// Digest before the first change; `None` if it did not exist, or is not known.
    pub(super) before: Option<Digest>,
    /// Permission bits before the first change and after the last one; `None` if it did not exist.
    pub(super) modes: [Option<u32>; 2],
}

impl FileChange {
    /// Whether it was undone: the file is gone, or has the content, or the changed mode, of before again. `last` is the digest
    /// of its last recorded content.
    pub(super) fn is_undone(&self, path: &str, last: Option<Digest>, now: &dyn FilesNow) -> bool {
        let [mode_before, mode_after] = self.modes;
        let Some(mode) = now.mode(path) else { return mode_after.is_some() };
        let content = self.before.is_some() && last != self.before;
        let has_mode_of_before = mode_before == Some(mode) && mode_after != mode_before;
        content && now.digest(path) == self.before
            || has_mode_of_before && mode_after.is_some() && !content
    }
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
    /// What each changed file was before its first recorded change, and whether it existed after its last one.
    pub(super) changed: BTreeMap<String, FileChange>,
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
            let known = self.changed.entry(change.path.clone());
            let mode = |state: &Option<FileState>| state.as_ref().map(|state| state.mode);
            let modes = [mode(&change.before), None];
            known.or_insert(FileChange { before, modes }).modes[1] = mode(&change.after);
            self.written.entry(ix).or_default().insert(change.path.clone());
        }
    }
}
