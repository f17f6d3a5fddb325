//! [`TrackedFiles`]: the files that git tracks. Their changes are recorded whatever ignore rules say, as git shows them.

use super::git_settings::GitSources;
use super::protected_names::GIT;
use std::path::Path;

/// The files of a workspace that git tracks, in order.
#[derive(Debug, Default)]
pub(super) struct TrackedFiles(Vec<String>);

impl TrackedFiles {
    /// Those of the repository around a workspace, and of its submodules; `None` if git cannot say. Blocks.
    pub(super) fn of(root: &Path, git: Option<&GitSources>) -> Option<TrackedFiles> {
        let Some(git) = git else { return Some(TrackedFiles::default()) };
        let mut around = root.ancestors().map(|folder| folder.join(GIT));
        let Some(repository) = around.find(|git| git.symlink_metadata().is_ok()) else {
            return Some(TrackedFiles::default());
        };
        let mut paths = git.tracked(&repository, root)?;
        paths.sort();
        Some(TrackedFiles(paths))
    }

    /// Whether a file is tracked, or for a folder a file in it.
    pub(super) fn has(&self, path: &str, is_folder: bool) -> bool {
        if is_folder {
            let below = format!("{path}/");
            let at = self.0.partition_point(|tracked| *tracked < below);
            return self.0.get(at).is_some_and(|tracked| tracked.starts_with(&below));
        }
        self.0.binary_search_by(|tracked| tracked.as_str().cmp(path)).is_ok()
    }
}
