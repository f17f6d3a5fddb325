use super::text_diff::text_diff;
use crate::value::Digest;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
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
    /// When content or stat data changed last, nanoseconds since 1970: no program can set it. 0 in
    /// what was recorded before it was.
    #[serde(default)]
    pub ctime_ns: i64,
    /// Inode number.
    pub inode: u64,
    /// Permission bits.
    pub mode: u32,
    /// Digest of the content, or of where a link leads, where it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
}

impl FileState {
    /// Whether the stat data says that this is the same, untouched file; digests are not compared.
    pub fn same_stat(&self, other: &FileState) -> bool {
        let times = |state: &FileState| (state.mtime_ns, state.ctime_ns);
        (self.kind, self.size, times(self), self.inode, self.mode)
            == (other.kind, other.size, times(other), other.inode, other.mode)
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
    /// Whether the content is known to be the one before, though it was written or its stat data
    /// changed. Gates take it for a change all the same: something was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_content: bool,
    /// What changed in its text, as `diff -u` writes it without a head, where both texts are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Bytes that are kept of what changed in one text.
const DIFF_BYTES: usize = 16 << 10;

impl Change {
    /// One path before and after, without what changed in its text.
    pub fn new(path: String, before: Option<FileState>, after: Option<FileState>) -> Change {
        Change { path, before, after, same_content: false, diff: None }
    }

    /// The same with what changed in its text; nothing is no text where the file was not there.
    #[must_use]
    pub fn with_texts(mut self, before: Option<&str>, after: Option<&str>) -> Change {
        let known = |state: &Option<FileState>, text: Option<&str>| {
            // A zero byte is in no text, as every tool that shows differences has it.
            let text = text.filter(|text| !text.contains('\0')).map(str::to_owned);
            text.or_else(|| state.is_none().then(String::new))
        };
        let texts = known(&self.before, before).zip(known(&self.after, after));
        let diff = texts.map(|(before, after)| text_diff(&before, &after, DIFF_BYTES));
        self.diff = diff.filter(|diff| !diff.is_empty());
        self
    }

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
        let (mut before, mut after) = (self.files.iter().peekable(), later.files.iter().peekable());
        let mut changes = Vec::new();
        loop {
            // Both are in path order, so that one walk along the two sees every path once.
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
    fn what_differs_is_told_in_path_order_and_nothing_else_is() {
        let before = manifest(&[("a", 1), ("b/c", 1), ("d", 1), ("gone", 1), ("same", 1)]);
        let later = manifest(&[("a", 2), ("b/c", 1), ("d", 1), ("new", 1), ("same", 1), ("z", 1)]);
        let changes = before.changes_to(&later);
        let told: Vec<_> = changes.iter().map(|c| (c.path.as_str(), c.kind().unwrap())).collect();
        use ChangeKind::{Created, Deleted, Modified};
        assert_eq!(told, [("a", Modified), ("gone", Deleted), ("new", Created), ("z", Created)]);
        assert_eq!(later.changes_to(&later), []);
        assert_eq!(manifest(&[]).changes_to(&manifest(&[("only", 1)])).len(), 1);
    }
}
