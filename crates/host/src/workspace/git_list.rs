//! [`ListGitSettings`]: what git is asked for.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// What git is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitList<'a> {
    /// All settings that hold in a repository, given its folder.
    Repository(&'a Path),
    /// All settings of the user and of the machine.
    User,
    /// Those of a file, without those that it includes.
    File(&'a Path),
    /// No settings, but the tracked files below a folder.
    Tracked {
        /// The folder of the repository.
        folder: &'a Path,
        /// Its work tree.
        top: &'a Path,
        /// The folder in the work tree.
        below: &'a Path,
    },
}

/// Why there is no list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotListed(pub String);

/// Asks git for its settings and for the files that it tracks.
pub trait ListGitSettings: Debug + Send + Sync {
    /// What `git config --list --show-origin -z` or `git ls-files -z` prints. Blocks for some milliseconds.
    fn list(&self, asked: GitList<'_>) -> Result<Vec<u8>, NotListed>;

    /// The files and folders in which git looks for settings of the user and of the machine, whether they exist or not.
    fn places(&self) -> Vec<PathBuf>;

    /// The home directory of the user.
    fn home(&self) -> Option<&Path>;
}
