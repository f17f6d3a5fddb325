//! File changes: the state of a path, the difference of two states, and manifests.

use kb_base::value::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The type of a file system entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A regular file; the only kind with a digest of content.
    File,
    /// A directory, which has no digest.
    Directory,
    /// A symbolic link, not followed.
    Symlink,
    /// A socket, device or pipe.
    Other,
}

/// The state of one path at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileState {
    /// The type of the entry.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Time of the last change of content or metadata, nanoseconds since 1970; programs cannot set
    /// it. 0 in records of versions that did not store it.
    #[serde(default)]
    pub ctime_ns: i64,
    /// Inode number, which a replaced file changes.
    pub inode: u64,
    /// Permission bits.
    pub mode: u32,
    /// Digest of the content, or of the target of a symbolic link; `None` if it was not computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
}

impl FileState {
    /// Whether type, size, times, inode and mode are equal. Digests are not compared.
    pub fn same_stat(&self, other: &FileState) -> bool {
        let times = |state: &FileState| (state.mtime_ns, state.ctime_ns);
        (self.kind, self.size, times(self), self.inode, self.mode)
            == (other.kind, other.size, times(other), other.inode, other.mode)
    }
}

/// How a path changed between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The path did not exist before.
    Created,
    /// The path existed before and has another state now.
    Modified,
    /// The path no longer exists.
    Deleted,
}

/// A file change: the state of one path before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Relative to the workspace root, `/`-separated, NFC.
    pub path: String,
    /// State before; `None` if the path did not exist.
    pub before: Option<FileState>,
    /// State after; `None` if the path no longer exists.
    pub after: Option<FileState>,
    /// Whether the content is known to be unchanged although the file was written or its metadata
    /// changed. Gates count this as a change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_content: bool,
    /// Hunks of a unified diff without the file header; `None` if one of the texts is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Whether a file with this path can change what programs do: documents and caches of runners do not.
pub fn is_code(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    let is_text = [".md", ".markdown", ".rst", ".txt"].iter().any(|end| lower.ends_with(end));
    let is_input = lower == "cmakelists.txt" || lower.contains("requirements");
    let is_cache = lower.ends_with(".pyc")
        || lower == ".coverage"
        || path.split('/').any(|part| part == "__pycache__" || part == ".pytest_cache");
    !is_cache && (!is_text || is_input)
}

impl Change {
    /// A change without a diff.
    pub fn new(path: String, before: Option<FileState>, after: Option<FileState>) -> Change {
        Change { path, before, after, same_content: false, diff: None }
    }

    /// How the path changed; `None` if it did not exist at either moment.
    pub fn kind(&self) -> Option<ChangeKind> {
        match (&self.before, &self.after) {
            (None, Some(_)) => Some(ChangeKind::Created),
            (Some(_), Some(_)) => Some(ChangeKind::Modified),
            (Some(_), None) => Some(ChangeKind::Deleted),
            (None, None) => None,
        }
    }
}

/// The files of a workspace at one moment, by relative path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// Files and symbolic links by path relative to the workspace, `/`-separated, NFC.
    pub files: BTreeMap<String, FileState>,
    /// Whether the scan stopped at a limit; then an absent path proves nothing.
    #[serde(default)]
    pub truncated: bool,
}

impl Manifest {
    /// The paths whose state differs from a later manifest, in path order.
    pub fn changes_to(&self, later: &Manifest) -> Vec<Change> {
        let (mut before, mut after) = (self.files.iter().peekable(), later.files.iter().peekable());
        let mut changes = Vec::new();
        loop {
            // Both are sorted by path, so one merge pass visits every path once.
            let order = match (before.peek(), after.peek()) {
                (Some((ours, _)), Some((theirs, _))) => ours.cmp(theirs),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return changes,
            };
            let gone = if order.is_le() { before.next() } else { None };
            let there = if order.is_ge() { after.next() } else { None };
            let Some((path, _)) = gone.or(there) else { return changes };
            let (before, after) = (gone.map(|(_, state)| state), there.map(|(_, state)| state));
            let same = before.zip(after).is_some_and(|(before, after)| before.same_stat(after));
            if !same {
                let (path, before, after) = (path.clone(), before.cloned(), after.cloned());
                changes.push(Change::new(path, before, after));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(files: &[(&str, u64)]) -> Manifest {
        let state = |size| FileState {
            kind: FileKind::File,
            size,
            mtime_ns: 0,
            ctime_ns: 0,
            inode: 1,
            mode: 0o644,
            sha256: None,
        };
        let files = files.iter().map(|(path, size)| ((*path).to_owned(), state(*size))).collect();
        Manifest { files, truncated: false }
    }

    #[test]
    fn lists_only_differing_paths_in_path_order() {
        let before = manifest(&[("a", 1), ("b/c", 1), ("d", 1), ("gone", 1), ("same", 1)]);
        let later = manifest(&[("a", 2), ("b/c", 1), ("d", 1), ("new", 1), ("same", 1), ("z", 1)]);
        let changes = before.changes_to(&later);
        let listed: Vec<_> = changes.iter().map(|c| (c.path.as_str(), c.kind().unwrap())).collect();
        use ChangeKind::{Created, Deleted, Modified};
        assert_eq!(listed, [("a", Modified), ("gone", Deleted), ("new", Created), ("z", Created)]);
        assert_eq!(later.changes_to(&later), []);
        assert_eq!(manifest(&[]).changes_to(&manifest(&[("only", 1)])).len(), 1);
    }
}
