//! The existing paths of the workspace that the path rules forbid to read, for the kernel sandbox to hide.

use super::dir_handle::{FOLDER, MAX_DEPTH, MAX_ENTRIES};
use super::path_guard::Workspace;
use super::path_rules::PathRules;
use super::path_text::shown;
use rustix::fd::OwnedFd;
use rustix::fs::{Dir, FileType, Mode};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum number of paths that are hidden: each is a mount, which takes some microseconds.
const MAX_HIDDEN: usize = 1_000;

/// There is more to hide or to search than the limits allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyHidden;

impl Workspace {
    /// The paths below the [roots](PathRules::roots) of the rules that exist now and that the rules
    /// forbid to read. A directory in which they forbid everything, new names included, counts as one
    /// path. Links are left out: what they lead to is hidden under its own name. Blocks; the search
    /// visits ignored files and `.git` too.
    pub(crate) fn hidden_paths(&self, rules: &PathRules) -> Result<Vec<PathBuf>, TooManyHidden> {
        let mut search = Search { workspace: self, rules, hidden: Vec::new(), searched: 0 };
        if !rules.is_empty() {
            let roots = rules.roots(self.root()).unwrap_or_else(|| vec![self.root().to_owned()]);
            for root in &roots {
                search.root(root.strip_prefix(self.root()).unwrap_or(root))?;
            }
        }
        Ok(search.hidden)
    }
}

/// A walk by directory handles, so that no link diverts it.
struct Search<'w> {
    workspace: &'w Workspace,
    rules: &'w PathRules,
    hidden: Vec<PathBuf>,
    searched: usize,
}

impl Search<'_> {
    /// Searches below a root, given relative to the workspace.
    fn root(&mut self, rel: &Path) -> Result<(), TooManyHidden> {
        let full = self.workspace.root().join(rel);
        let is_forbidden = match self.workspace.writable().open_folder(rel) {
            Ok(_) if self.rules.denies(&shown(rel), &full) => true,
            Ok(folder) => self.folder(&folder, rel, MAX_DEPTH)?,
            Err(Errno::NOENT) => false,
            Err(Errno::NOTDIR) => !self.rules.permit(&shown(rel), &full),
            Err(_) => return Err(TooManyHidden),
        };
        if is_forbidden {
            self.hidden.push(full);
        }
        Ok(())
    }

    /// Visits a directory, which the rules do not deny. Returns whether it can be hidden as a whole.
    fn folder(
        &mut self,
        folder: &OwnedFd,
        rel: &Path,
        depth: usize,
    ) -> Result<bool, TooManyHidden> {
        let before = self.hidden.len();
        let mut is_whole = !rel.as_os_str().is_empty() && self.forbids_new_names(rel);
        for entry in Dir::read_from(folder).map_err(|_| TooManyHidden)?.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.searched += 1;
            let below = rel.join(OsStr::from_bytes(name.to_bytes()));
            is_whole &= self.entry(folder, name, entry.file_type(), below, depth)?;
            if self.hidden.len() > MAX_HIDDEN || self.searched > MAX_ENTRIES {
                return Err(TooManyHidden);
            }
        }
        is_whole &= self.hidden.len() > before;
        if is_whole {
            self.hidden.truncate(before);
        }
        Ok(is_whole)
    }

    /// Visits an entry. Returns whether the rules forbid all of it.
    fn entry(
        &mut self,
        folder: &OwnedFd,
        name: &CStr,
        kind: FileType,
        rel: PathBuf,
        depth: usize,
    ) -> Result<bool, TooManyHidden> {
        if kind == FileType::Symlink || self.workspace.is_state_path(&rel) {
            return Ok(true);
        }
        let directory = match kind {
            FileType::Directory | FileType::Unknown => {
                rustix::fs::openat(folder, name, FOLDER, Mode::empty()).ok()
            }
            _ => None,
        };
        let full = self.workspace.root().join(&rel);
        let is_forbidden = match (&directory, kind) {
            (Some(directory), _) if !self.rules.denies_entry(&shown(&rel), &full) => {
                // What is too deep to be searched is hidden as a whole.
                depth == 0 || self.folder(directory, &rel, depth - 1)?
            }
            (Some(_), _) => true,
            // `kb` cannot search it, but a command could change its mode.
            (None, FileType::Directory) => true,
            (None, _) => self.rules.forbids_entry(&shown(&rel), &full),
        };
        if is_forbidden {
            self.hidden.push(full);
        }
        Ok(is_forbidden)
    }

    /// Whether the rules forbid whatever is created in a directory.
    fn forbids_new_names(&self, rel: &Path) -> bool {
        const UNNAMED: &str = "\u{10fffd}a name that no pattern names\u{10fffd}";
        let rel = rel.join(UNNAMED);
        self.rules.forbids_entry(&shown(&rel), &self.workspace.root().join(&rel))
    }
}
