//! [`TrackedFiles`]: the files that git tracks. Their changes are recorded whatever ignore rules say, as git shows them.

use super::git_settings::{GitSources, Stamp, git_around, git_folder, stamp};
use std::path::{Path, PathBuf};

/// The files of a workspace that git tracks.
#[derive(Debug)]
pub(super) struct TrackedFiles {
    /// In order; `None` if git cannot say.
    paths: Option<Vec<String>>,
    /// The index of the repository, and what it looked like when git was asked.
    index: Option<(PathBuf, Stamp)>,
}

impl TrackedFiles {
    /// Those of the repository around a workspace, and of its submodules. Without one, there are none. Blocks.
    pub(super) fn of(root: &Path, git: Option<&GitSources>) -> TrackedFiles {
        let Some((git, repository)) = git.zip(git_around(root)) else {
            return TrackedFiles { paths: Some(Vec::new()), index: None };
        };
        let index = git_folder(&repository).join("index");
        let seen = stamp(&index);
        let mut paths = match seen {
            Some(_) => git.tracked(&repository, root),
            None => Some(Vec::new()),
        };
        paths.iter_mut().for_each(|paths| paths.sort());
        TrackedFiles { paths, index: Some((index, seen)) }
    }

    /// Whether git has changed its index since it was asked. Blocks.
    pub(super) fn are_old(&self) -> bool {
        self.index.as_ref().is_some_and(|(index, seen)| stamp(index) != *seen)
    }

    /// Whether a file is tracked, or for a folder a file in it; `None` if git cannot say.
    pub(super) fn has(&self, path: &str, is_folder: bool) -> Option<bool> {
        let paths = self.paths.as_ref()?;
        if is_folder {
            let below = format!("{path}/");
            let at = paths.partition_point(|tracked| *tracked < below);
            return Some(paths.get(at).is_some_and(|tracked| tracked.starts_with(&below)));
        }
        Some(paths.binary_search_by(|tracked| tracked.as_str().cmp(path)).is_ok())
    }
}
