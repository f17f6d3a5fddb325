//! What the tool calls and gates of a run tell about files.

use kb_base::value::Digest;
use kb_core::evidence::{EvidenceKind, Invocation};
use kb_core::run::InstanceIx;
use std::collections::{BTreeMap, BTreeSet};

/// A file that a run changed.
pub(super) struct FileChange {
    /// Digest before the first change; `None` if it did not exist, or is not known.
    pub(super) before: Option<Digest>,
    /// Whether it existed after the last change.
    pub(super) exists: bool,
}

impl FileChange {
    /// Whether it was undone: the file is gone, or has the content of before again. `now` reads the file, if it must.
    pub(super) fn is_undone(
        &self,
        last: Option<Digest>,
        exists: bool,
        now: impl Fn() -> Option<Digest>,
    ) -> bool {
        let as_before = || self.before.is_some() && last != self.before && now() == self.before;
        if exists { as_before() } else { self.exists }
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
            known.or_insert(FileChange { before, exists: false }).exists = change.after.is_some();
            self.written.entry(ix).or_default().insert(change.path.clone());
        }
    }
}
