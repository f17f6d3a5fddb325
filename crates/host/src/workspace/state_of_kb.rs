//! The state of `kb` as a workspace sees it: nothing but `kb` reads or writes it, wherever it lies.

use super::path_guard::Workspace;
use std::path::{Path, PathBuf};

impl Workspace {
    /// Whether a real path, relative to the workspace, lies in a path that was passed as
    /// `protected` to [`Workspace::open`], such as the state directory of `kb`.
    pub(super) fn is_state_path(&self, real: &Path) -> bool {
        self.protected().is_further(self.root(), real)
    }

    /// The state of `kb`, which no setting opens for a command.
    pub(crate) fn state_of_kb(&self) -> &[PathBuf] {
        self.protected().state()
    }

    /// Whether a real path lies in the state of `kb`, which nothing but `kb` reads. The files of a step in a worktree or
    /// copy lie there too and do not count.
    pub(super) fn is_state_of_kb(&self, full: &Path) -> bool {
        let around = |state: &&PathBuf| !self.root().starts_with(state);
        let mut state = self.state_of_kb().iter().filter(around);
        state.any(|state| full.starts_with(state))
    }

    /// The state of `kb` that lies in the workspace: commands read nothing of it.
    pub(crate) fn state_inside(&self) -> Vec<PathBuf> {
        let inside = |state: &&PathBuf| state.starts_with(self.root());
        self.state_of_kb().iter().filter(inside).cloned().collect()
    }

    /// The state of `kb` below a folder, relative to it.
    pub(super) fn state_below(&self, folder: &Path) -> Vec<PathBuf> {
        let below = self.state_of_kb().iter().filter_map(|state| state.strip_prefix(folder).ok());
        below.map(Path::to_owned).collect()
    }

    /// The `protected` paths of [`Workspace::open`] that lie in the workspace, relative to it.
    pub(super) fn state_paths(&self) -> Vec<PathBuf> {
        self.protected().further_inside(self.root())
    }
}
