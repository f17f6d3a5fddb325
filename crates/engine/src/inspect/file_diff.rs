//! The change of a file: what the recorded states before and after it show. Only digests show that a content is the same.

use kb_base::value::Digest;
use kb_core::evidence::{Change, FileKind, FileState};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A file whose state differs before and after the step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// Path relative to the workspace.
    pub path: String,
    /// Kind of the change.
    pub change: FileDiffKind,
    /// Path before a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// State before the step; null if the file did not exist.
    pub before: Option<FileSnapshot>,
    /// State after the step; null if the file was deleted.
    pub after: Option<FileSnapshot>,
    /// Text differences, one for each call that wrote the file; empty if none was recorded.
    pub patches: Vec<Patch>,
}

/// Kind of a file change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileDiffKind {
    /// The file is new.
    Created,
    /// The content changed.
    Modified,
    /// Only the permissions changed.
    Mode,
    /// The file type changed, for example from a file to a link.
    Replaced,
    /// The file was written again with the same content.
    Rewritten,
    /// The path changed, and possibly the content.
    Renamed,
    /// The file no longer exists.
    Deleted,
    /// The merge of a worktree or copy wrote the file; its states were not recorded.
    Merged,
    /// The file changed since the run started, and no record says how.
    Unrecorded,
}

impl FileDiffKind {
    /// The name in JSON and in the terminal.
    pub fn as_str(self) -> &'static str {
        match self {
            FileDiffKind::Created => "created",
            FileDiffKind::Modified => "modified",
            FileDiffKind::Mode => "mode",
            FileDiffKind::Replaced => "replaced",
            FileDiffKind::Rewritten => "rewritten",
            FileDiffKind::Renamed => "renamed",
            FileDiffKind::Deleted => "deleted",
            FileDiffKind::Merged => "merged",
            FileDiffKind::Unrecorded => "unrecorded",
        }
    }
}

/// The text difference that one call made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Patch {
    /// Id of the tool call.
    pub call: String,
    /// Name of the tool; `run` for the command of a step.
    pub tool: String,
    /// Hunks in the format of `diff -u`.
    pub text: String,
}

/// The state of a file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileSnapshot {
    /// File type: `file`, `symlink` or `other`.
    pub kind: FileKind,
    /// Size in bytes.
    pub bytes: u64,
    /// Permissions in octal.
    pub mode: String,
    /// Digest of the content, or of the target of a link; null if it was not computed.
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
}

/// A file change with the recorded states, which identify a renamed file.
pub(super) type ChangedFile = (FileDiff, Change);

impl FileSnapshot {
    /// What a person sees of a state.
    pub fn of(state: &FileState) -> FileSnapshot {
        FileSnapshot {
            kind: state.kind,
            bytes: state.size,
            mode: format!("{:o}", state.mode),
            sha256: state.sha256,
        }
    }
}

/// The kind of a change; `None` if there is none.
pub(super) fn kind_of_change(change: &Change) -> Option<FileDiffKind> {
    let (before, after) = match (&change.before, &change.after) {
        (Some(before), Some(after)) => (before, after),
        (None, Some(_)) => return Some(FileDiffKind::Created),
        (Some(_), None) => return Some(FileDiffKind::Deleted),
        (None, None) => return None,
    };
    let digests = before.sha256.zip(after.sha256);
    // A program can set size and time of a file back: only digests show that its content is the same.
    let same = change.same_content || digests.is_some_and(|(before, after)| before == after);
    Some(if before.kind != after.kind {
        FileDiffKind::Replaced
    } else if same && before.mode != after.mode {
        FileDiffKind::Mode
    } else if same {
        FileDiffKind::Rewritten
    } else {
        FileDiffKind::Modified
    })
}

/// Joins a deleted and a created path into a rename if they are the same file with the same content.
pub(super) fn join_renamed(mut files: Vec<ChangedFile>) -> Vec<FileDiff> {
    let identity = |state: &Option<FileState>| {
        let state = state.as_ref()?;
        Some((state.inode, state.sha256?))
    };
    let deleted = |(at, (file, change)): (usize, &ChangedFile)| {
        let is_deleted = file.change == FileDiffKind::Deleted;
        Some((identity(&change.before)?, at)).filter(|_| is_deleted)
    };
    let mut gone: BTreeMap<_, usize> = files.iter().enumerate().filter_map(deleted).collect();
    let mut joined = BTreeSet::new();
    for at in 0..files.len() {
        let (file, change) = &files[at];
        let came = identity(&change.after).filter(|_| file.change == FileDiffKind::Created);
        let Some(old) = came.and_then(|came| gone.remove(&came)) else { continue };
        joined.insert(old);
        let (path, before) = (files[old].0.path.clone(), files[old].0.before.clone());
        let file = &mut files[at].0;
        (file.change, file.from, file.before) = (FileDiffKind::Renamed, Some(path), before);
        file.patches.clear();
    }
    let left = files.into_iter().enumerate().filter(|(at, _)| !joined.contains(at));
    left.map(|(_, (file, _))| file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(inode: u64, content: Option<&str>) -> FileState {
        let (kind, sha256) = (FileKind::File, content.map(Digest::of));
        FileState { kind, size: 1, mtime_ns: 1, ctime_ns: 1, inode, mode: 0o644, sha256 }
    }

    fn shown(changes: Vec<Change>) -> Vec<(FileDiffKind, String)> {
        let file = |change: Change| {
            let kind = kind_of_change(&change)?;
            let (path, patches) = (change.path.clone(), Vec::new());
            let (from, before, after) = (None, None, None);
            Some((FileDiff { path, change: kind, from, before, after, patches }, change))
        };
        let joined = join_renamed(changes.into_iter().filter_map(file).collect());
        joined.into_iter().map(|file| (file.change, file.path)).collect()
    }

    /// A program can set size and time of a file back, so that they say nothing about its content.
    #[test]
    fn only_digests_show_that_a_content_is_the_same() {
        let change = |path: &str, before, after| Change::new(path.to_owned(), before, after);
        let moved = |content: Option<&str>| {
            shown(vec![
                change("a", Some(state(1, content)), None),
                change("b", None, Some(state(1, Some("x")))),
            ])
        };
        assert_eq!(moved(Some("x")), [(FileDiffKind::Renamed, "b".to_owned())]);
        for content in [None, Some("y")] {
            let kinds: Vec<_> = moved(content).into_iter().map(|(kind, _)| kind).collect();
            assert_eq!(kinds, [FileDiffKind::Deleted, FileDiffKind::Created]);
        }
        let executable = |content| FileState { mode: 0o755, ..state(1, content) };
        for (before, after, expected) in [
            (Some("x"), Some("x"), FileDiffKind::Mode),
            (Some("x"), Some("y"), FileDiffKind::Modified),
            (None, Some("x"), FileDiffKind::Modified),
            (None, None, FileDiffKind::Modified),
        ] {
            let changed = change("a", Some(state(1, before)), Some(executable(after)));
            assert_eq!(shown(vec![changed]), [(expected, "a".to_owned())]);
        }
    }

    /// The time grows with the number of files, not with its square.
    #[test]
    fn many_renamed_files_are_joined() {
        let of = |at: u64| {
            let content = at.to_string();
            [
                Change::new(format!("a/{at}"), Some(state(at, Some(&content))), None),
                Change::new(format!("b/{at}"), None, Some(state(at, Some(&content)))),
            ]
        };
        let joined = shown((0..30_000).flat_map(of).collect());
        assert!(joined.len() == 30_000 && joined.iter().all(|(k, _)| *k == FileDiffKind::Renamed));
    }
}
