use crate::value::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What kind of thing a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, not followed.
    Symlink,
    /// A socket, device or pipe.
    Other,
}

/// What was seen of one path at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileState {
    /// What it is.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Inode number.
    pub inode: u64,
    /// Permission bits.
    pub mode: u32,
    /// Content digest, where it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
}

impl FileState {
    /// Whether the stat data says that this is the same, untouched file; digests are not compared.
    pub fn same_stat(&self, other: &FileState) -> bool {
        (self.kind, self.size, self.mtime_ns, self.inode, self.mode)
            == (other.kind, other.size, other.mtime_ns, other.inode, other.mode)
    }
}

/// What happened to a path between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It was not there before.
    Created,
    /// It was there and is another now.
    Modified,
    /// It is there no more.
    Deleted,
}

/// One path before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Relative to the workspace root, `/`-separated, NFC.
    pub path: String,
    /// What it was; `None` if it was not there.
    pub before: Option<FileState>,
    /// What it became; `None` if it is gone.
    pub after: Option<FileState>,
}

impl Change {
    /// What happened; `None` where neither moment saw the path.
    pub fn kind(&self) -> Option<ChangeKind> {
        match (&self.before, &self.after) {
            (None, Some(_)) => Some(ChangeKind::Created),
            (Some(_), Some(_)) => Some(ChangeKind::Modified),
            (Some(_), None) => Some(ChangeKind::Deleted),
            (None, None) => None,
        }
    }
}

/// The stat data of a workspace at one moment, by relative path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// Files and links by path relative to the workspace, `/`-separated, NFC.
    pub files: BTreeMap<String, FileState>,
    /// Whether the scan stopped at a limit, so that absence proves nothing.
    #[serde(default)]
    pub truncated: bool,
}

impl Manifest {
    /// Paths whose stat data differ between this moment and a later one, in path order.
    pub fn changes_to(&self, later: &Manifest) -> Vec<Change> {
        let change = |path: &String| Change {
            path: path.clone(),
            before: self.files.get(path).cloned(),
            after: later.files.get(path).cloned(),
        };
        let differs = |path: &&String| match (self.files.get(*path), later.files.get(*path)) {
            (Some(a), Some(b)) => !a.same_stat(b),
            _ => true,
        };
        let mut paths: Vec<&String> = self.files.keys().chain(later.files.keys()).collect();
        paths.sort();
        paths.dedup();
        paths.into_iter().filter(differs).map(change).collect()
    }
}
