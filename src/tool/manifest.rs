use super::beneath::state_of;
use super::guard::Workspace;
use super::ignore_rules::IgnoreRules;
use super::path_text::nfc;
use crate::evidence::{Change, FileKind, FileState, Manifest};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Files that a manifest holds at most; beyond that it says that it is truncated.
pub(super) const MAX_FILES: usize = 100_000;
/// Folders deeper than this are not looked into.
pub(super) const MAX_DEPTH: usize = 128;
/// Larger files are compared by their stat data only.
pub(super) const MAX_HASHED: u64 = 256 << 20;
pub(super) const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Workspace {
    /// The stat data of every file and link that the ignore rules leave: hidden files too, `.git`
    /// and what `.gitignore` files name not. Blocks; reads no content.
    pub fn manifest(&self) -> Manifest {
        let mut scan = Scan { files: Vec::new(), truncated: false, rules: IgnoreRules::default() };
        match self.writable().open_folder(Path::new("")) {
            Ok(root) => scan.folder(&root, String::new(), 0),
            Err(_) => scan.truncated = true,
        }
        Manifest { files: scan.files.into_iter().collect(), truncated: scan.truncated }
    }

    /// What changed between two moments, the later of which is now, with the digests of the files
    /// that differ. Blocks.
    pub fn changes(&self, before: &Manifest, after: &Manifest) -> Vec<Change> {
        let changes = before.changes_to(after).into_iter();
        changes.filter_map(|change| self.confirmed(change)).collect()
    }

    /// A file that ignore rules hide since then is not gone; one that is there gets its digest.
    fn confirmed(&self, mut change: Change) -> Option<Change> {
        let located = self.locate(&change.path).ok();
        if change.after.is_none() {
            let now = located.as_ref().filter(|now| now.kind() == FileKind::File);
            change.after = now.map(|now| now.state()).filter(|_| is_file(&change.before));
            if let (Some(before), Some(after)) = (&change.before, &change.after)
                && before.same_stat(after)
            {
                return None;
            }
        }
        let small = |state: &FileState| state.kind == FileKind::File && state.size <= MAX_HASHED;
        if let (Some(after), Some(located)) = (&mut change.after, located)
            && small(after)
        {
            after.sha256 = self.observed(&located).ok().and_then(|now| now.sha256);
        }
        Some(change)
    }
}

fn is_file(state: &Option<FileState>) -> bool {
    state.as_ref().is_some_and(|state| state.kind == FileKind::File)
}

/// A scan under way. Folders are read through descriptors, so no link can lead it astray, and no
/// path is walked twice.
struct Scan {
    files: Vec<(String, FileState)>,
    truncated: bool,
    rules: IgnoreRules,
}

impl Scan {
    /// Takes in a folder; `prefix` is its path with a `/` behind it, empty for the root.
    fn folder(&mut self, folder: &OwnedFd, prefix: String, depth: usize) {
        let Ok(entries) = Dir::read_from(folder) else {
            self.truncated = true;
            return;
        };
        let added = self.rules.enter(folder, &prefix, depth == 0);
        for entry in entries.flatten() {
            if self.files.len() >= MAX_FILES {
                self.truncated = true;
                break;
            }
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b".." | b".git") {
                self.entry(folder, &prefix, name, entry.file_type(), depth);
            }
        }
        self.rules.leave(added);
    }

    fn entry(&mut self, folder: &OwnedFd, prefix: &str, name: &CStr, kind: FileType, depth: usize) {
        let mut path = String::with_capacity(prefix.len() + name.count_bytes());
        path.push_str(prefix);
        path.push_str(&OsStr::from_bytes(name.to_bytes()).to_string_lossy());
        let mut stat = None;
        // Some file systems do not say what an entry is.
        let kind = match kind {
            FileType::Unknown => {
                stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
                stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
            }
            known => known,
        };
        let is_folder = kind == FileType::Directory;
        if self.rules.hide(&path, is_folder) {
            return;
        }
        if is_folder {
            return self.below(folder, name, path, depth);
        }
        let stat =
            stat.map_or_else(|| rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW), Ok);
        // What is gone between reading its name and its data was never there for us.
        if let Ok(stat) = stat {
            self.files.push((nfc(&path), state_of(&stat)));
        }
    }

    fn below(&mut self, folder: &OwnedFd, name: &CStr, mut path: String, depth: usize) {
        path.push('/');
        match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
            Ok(below) if depth < MAX_DEPTH => self.folder(&below, path, depth + 1),
            Err(rustix::io::Errno::NOENT) => {}
            _ => self.truncated = true,
        }
    }
}
