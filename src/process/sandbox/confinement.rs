//! The paths that a sandboxed process may use.

use super::paths;
use super::rules::{Access, Rules};
use crate::process::BaseEnvironment;
use std::io;
use std::path::{Path, PathBuf};

/// The paths that a process and its descendants may read and write. The kernel denies all others.
/// Programs, toolchains, package caches and harmless devices are always included (see
/// `docs/security.md`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confinement {
    write: Vec<PathBuf>,
    read: Vec<PathBuf>,
    write_only: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
}

impl Confinement {
    /// Permits reading and writing below these folders, and in the private temporary directory.
    pub fn to(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Confinement { write: roots.into_iter().collect(), ..Confinement::default() }
    }

    /// Adds paths to read. `~/` is the home directory.
    #[must_use]
    pub fn with_read(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.read.extend(paths);
        self
    }

    /// Adds paths to read and write. `~/` is the home directory.
    #[must_use]
    pub fn with_write(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.write.extend(paths);
        self
    }

    /// Adds paths that may be written and removed, but neither read nor listed nor executed.
    #[must_use]
    pub fn with_write_only(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.write_only.extend(paths);
        self
    }

    /// Denies writing to paths inside the permitted folders. Landlock cannot revoke access that a
    /// parent folder grants, so this needs a mount namespace and has no effect at the level `group`.
    #[must_use]
    pub fn with_read_only(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.read_only.extend(paths);
        self
    }

    /// The paths of [`Confinement::with_read_only`], to be mounted read-only over themselves.
    pub(in crate::process) fn read_only(&self) -> &[PathBuf] {
        &self.read_only
    }

    /// The rules. Paths that do not exist are skipped.
    pub(in crate::process) fn rules(
        &self,
        base: &BaseEnvironment,
        temporary: Option<&Path>,
    ) -> io::Result<Rules> {
        let home = base.get("HOME").map(Path::new);
        let own = |paths: &[PathBuf]| paths.iter().map(|path| expanded(path, home)).collect();
        let (mut write, mut read): (Vec<_>, Vec<_>) = (own(&self.write), own(&self.read));
        write.extend(temporary.map(Path::to_owned).into_iter().chain(paths::writable(base)));
        read.extend(paths::readable(base));
        let rules = Rules::new()?;
        let rules = write.iter().try_fold(rules, |rules, path| rules.allow(Access::Write, path))?;
        let rules = self
            .write_only
            .iter()
            .try_fold(rules, |rules, path| rules.allow(Access::WriteOnly, path))?;
        read.iter().try_fold(rules, |rules, path| rules.allow(Access::Read, path))
    }
}

fn expanded(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}
