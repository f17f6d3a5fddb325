//! The paths that settings and steps open for commands in the sandbox, without the state of `kb`.

use crate::workspace::own_path;
use kb_process::Supervisor;
use std::path::{Path, PathBuf};

/// Makes the paths that settings and steps open absolute. What `kb` stores is in none of them.
pub(super) struct OpenedPaths<'a> {
    root: &'a Path,
    state: &'a [PathBuf],
    home: Option<PathBuf>,
    can_hide: bool,
    hidden: Vec<PathBuf>,
}

impl<'a> OpenedPaths<'a> {
    /// For a project. `state` are the folders in which `kb` stores.
    pub(super) fn new(
        root: &'a Path,
        state: &'a [PathBuf],
        supervisor: &Supervisor,
    ) -> OpenedPaths<'a> {
        let home = supervisor.base().get("HOME").map(PathBuf::from);
        // The files of a step with files of its own lie in such a folder, which cannot be hidden then.
        let is_inside = state.iter().any(|state| root.starts_with(state));
        let can_hide = supervisor.can_hide_paths() && !is_inside;
        OpenedPaths { root, state, home, can_hide, hidden: Vec::new() }
    }

    /// The paths of a list that a command may use.
    pub(super) fn of(&mut self, list: &[String]) -> Vec<PathBuf> {
        let paths = list.iter().filter_map(|path| match path.strip_prefix("~/") {
            Some(rest) => self.home.as_ref().map(|home| home.join(rest)),
            None => own_path(self.root, Path::new(path)),
        });
        let paths: Vec<PathBuf> = paths.collect();
        paths.into_iter().filter(|path| self.may_open(path)).collect()
    }

    fn may_open(&mut self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if real.starts_with(self.root) {
            return true;
        }
        if self.state.iter().any(|state| real.starts_with(state)) {
            return false;
        }
        let inside = self.state.iter().filter(|state| state.starts_with(&real));
        let inside: Vec<PathBuf> = inside.cloned().collect();
        let may_open = inside.is_empty() || self.can_hide;
        self.hidden.extend(inside);
        may_open
    }

    /// The folders of `kb` that lie in opened paths, for a sandbox that can hide them.
    pub(super) fn into_hidden(self) -> Vec<PathBuf> {
        self.hidden
    }
}
