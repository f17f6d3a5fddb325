//! Walks a directory tree through directory handles, so that replacing a directory by a link does
//! not divert the walk.

use super::dir_handle::{FOLDER, MAX_DEPTH, kind_of, open_file_at, state_of};
use super::ignore_rules::IgnoreRules;
use super::path_guard::{LocatedPath, Workspace};
use super::path_text::shown;
use kb_core::evidence::{FileKind, FileState};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode};
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One entry of a walk.
pub(crate) struct Entry<'w> {
    /// Relative to the root, as stored on disk.
    pub(crate) rel: PathBuf,
    /// Relative to the root, as it is shown.
    pub(crate) shown: String,
    /// Relative to the start of the walk, as it is shown.
    pub(crate) below: String,
    /// The kind of the entry; links are not followed.
    pub(crate) kind: FileKind,
    folder: &'w OwnedFd,
    name: &'w CString,
}

impl Entry<'_> {
    /// The size of a regular file in bytes, else 0.
    pub(crate) fn size(&self) -> u64 {
        self.state().map_or(0, |state| state.size)
    }

    /// Stat data of a regular file, without a digest.
    pub(crate) fn state(&self) -> Option<FileState> {
        let stat = rustix::fs::statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(state_of(&stat)).filter(|state| state.kind == FileKind::File)
    }

    /// Opens a regular file for reading; `None` if it was replaced by something else.
    pub(crate) fn open(&self) -> Option<File> {
        open_file_at(self.folder, self.name.as_c_str()).ok()
    }
}

/// Visits everything below a directory, in path order, without following links. Hidden files are
/// included; `.git` and files that the rules hide are not, unless the start itself is hidden. `depth` 1
/// visits the entries of the directory itself.
pub(crate) fn walk(
    workspace: &Workspace,
    start: &LocatedPath,
    depth: Option<usize>,
    rules: IgnoreRules,
    visit: &mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
) {
    let Ok(folder) = rustix::fs::openat(&start.found.fd, ".", FOLDER, Mode::empty()) else {
        return;
    };
    let base = &start.found.real;
    let rules = rules_above(workspace, start, rules);
    let below = depth.unwrap_or(MAX_DEPTH).min(MAX_DEPTH);
    let root = workspace.full(start, Path::new(""));
    let state = workspace.state_below(&root);
    let mut walk = Walk { state, base: base.components().count(), rules, visit };
    let _ = walk.folder(&folder, base, below);
}

/// The ignore rules of the directories above the start; none if they hide the start.
fn rules_above(workspace: &Workspace, start: &LocatedPath, mut rules: IgnoreRules) -> IgnoreRules {
    let parts: Vec<_> = start.found.real.iter().collect();
    for (depth, _) in parts.iter().enumerate() {
        let above: PathBuf = parts[..depth].iter().collect();
        if let Ok(folder) = workspace.open_folder(start, &above) {
            rules.enter(&folder, &prefix(&above), depth == 0);
        }
        let next: PathBuf = parts[..=depth].iter().collect();
        if rules.hide(&next.to_string_lossy(), true) {
            return rules.without_rules();
        }
    }
    rules
}

/// A path with a trailing `/`; empty for the root.
fn prefix(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_empty() { String::new() } else { format!("{text}/") }
}

struct Walk<'v> {
    /// The state of `kb` in the root, relative to it. It is not visited.
    state: Vec<PathBuf>,
    /// The number of path components of the start.
    base: usize,
    rules: IgnoreRules,
    visit: &'v mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &OwnedFd, rel: &Path, depth: usize) -> ControlFlow<()> {
        if depth == 0 {
            return ControlFlow::Continue(());
        }
        let added = self.rules.enter(folder, &prefix(rel), rel.as_os_str().is_empty());
        for (name, kind) in entries(folder) {
            self.entry(folder, &name, kind, rel, depth)?;
        }
        self.rules.leave(added);
        ControlFlow::Continue(())
    }

    fn entry(
        &mut self,
        folder: &OwnedFd,
        name: &CString,
        kind: FileKind,
        above: &Path,
        depth: usize,
    ) -> ControlFlow<()> {
        let rel = above.join(OsStr::from_bytes(name.as_bytes()));
        let is_folder = kind == FileKind::Directory;
        if self.rules.hide(&rel.to_string_lossy(), is_folder) || self.state.contains(&rel) {
            return ControlFlow::Continue(());
        }
        let below: PathBuf = rel.iter().skip(self.base).collect();
        let entry = Entry { shown: shown(&rel), below: shown(&below), rel, kind, folder, name };
        (self.visit)(&entry)?;
        if kind != FileKind::Directory {
            return ControlFlow::Continue(());
        }
        match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
            Ok(below) => self.folder(&below, &entry.rel, depth - 1),
            Err(_) => ControlFlow::Continue(()),
        }
    }
}

/// The entries of a directory by name, without `.git`.
fn entries(folder: &OwnedFd) -> Vec<(CString, FileKind)> {
    let Ok(entries) = Dir::read_from(folder) else { return Vec::new() };
    let mut found: Vec<(CString, FileKind)> = entries
        .flatten()
        .filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".." | b".git"))
        .map(|entry| {
            let name = entry.file_name().to_owned();
            let kind = match entry.file_type() {
                FileType::RegularFile => FileKind::File,
                FileType::Directory => FileKind::Directory,
                FileType::Symlink => FileKind::Symlink,
                // Some file systems do not report the type of an entry.
                FileType::Unknown => {
                    let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW);
                    stat.map_or(FileKind::Other, |stat| kind_of(&stat))
                }
                _ => FileKind::Other,
            };
            (name, kind)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}
