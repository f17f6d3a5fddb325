//! What the sandbox lets a process do with a path.

use super::confinement::Confinement;
use super::paths;
use super::rules_cache::Always;
use crate::BaseEnvironment;
use std::path::{Path, PathBuf};

/// The most that a process may do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Change it and what is below it.
    Write,
    /// It is mounted read-only, or Landlock permits no more.
    Read,
    /// Nothing: it does not exist for the process, or cannot be opened.
    Nothing,
    /// Read it; only people change it: see [`Confinement::with_read_only`].
    Protected,
}

impl Confinement {
    /// What a process may do with a path, whether it exists or not. `private` are its private directories.
    pub(crate) fn reach(
        &self,
        path: &Path,
        (base, always): (&BaseEnvironment, &Always),
        private: Option<&Path>,
    ) -> Reach {
        let path = real(path);
        let is_in = |roots: &[PathBuf]| {
            let mut roots = roots.iter().filter_map(|root| root.canonicalize().ok());
            roots.any(|root| path.starts_with(root))
        };
        let devices = ["/dev", "/proc"].map(PathBuf::from);
        let private: Vec<PathBuf> = private.map(Path::to_owned).into_iter().collect();
        let [write, read, read_only, hidden] = self.granted(base);
        let [written, system] = always.real(base);
        let is_below = |root: &PathBuf| path.starts_with(root);
        let is_written = |root: &PathBuf| is_below(root) && !self.is_unwritten(root);
        match () {
            () if is_in(&private) => Reach::Write,
            () if is_in(&hidden) => Reach::Nothing,
            () if is_in(&read_only) => Reach::Protected,
            () if is_in(&write) || written.iter().any(is_written) => Reach::Write,
            () if is_in(&devices) || is_in(&read) => Reach::Read,
            () if system.iter().any(is_below) || has_part_of(&path, base) => Reach::Read,
            () => Reach::Nothing,
        }
    }
}

/// Whether a path is above a granted one, such as the home directory: it exists for every process.
fn has_part_of(path: &Path, base: &BaseEnvironment) -> bool {
    let granted = paths::readable(base).into_iter().chain(paths::writable(base));
    granted.into_iter().any(|one| one.starts_with(path))
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(parent), Some(name)) => real(parent).join(name),
        (Err(_), _, _) => path.to_owned(),
    }
}
