use super::paths;
use super::rules::{Grant, Rules};
use crate::process::BaseEnvironment;
use std::io;
use std::path::{Path, PathBuf};

/// Where a process and everything that it starts may read and write; the kernel refuses the rest
/// (DESIGN §6). Programs, toolchains, package caches and harmless devices are added to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confinement {
    write: Vec<PathBuf>,
    read: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
}

impl Confinement {
    /// These folders are read and written, beside the private temporary directory.
    pub fn to(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Confinement { write: roots.into_iter().collect(), ..Confinement::default() }
    }

    /// Further places to read; `~/` is the home directory.
    #[must_use]
    pub fn with_read(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.read.extend(places);
        self
    }

    /// Further places to read and write, likewise.
    #[must_use]
    pub fn with_write(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.write.extend(places);
        self
    }

    /// Places inside of these folders that it may not write either. Landlock cannot take away what
    /// it has given, so these are for a mount namespace, where there is one.
    #[must_use]
    pub fn with_read_only(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.read_only.extend(places);
        self
    }

    /// What [`Confinement::with_read_only`] was told: existing places to be mounted read-only over
    /// themselves in a mount namespace of the process's own.
    pub(in crate::process) fn read_only(&self) -> &[PathBuf] {
        &self.read_only
    }

    /// The rules, with places that are not there left out.
    pub(in crate::process) fn rules(
        &self,
        base: &BaseEnvironment,
        temporary: Option<&Path>,
    ) -> io::Result<Rules> {
        let home = base.get("HOME").map(Path::new);
        let own = |places: &[PathBuf]| places.iter().map(|at| expanded(at, home)).collect();
        let (mut written, mut read): (Vec<_>, Vec<_>) = (own(&self.write), own(&self.read));
        written.extend(temporary.map(Path::to_owned).into_iter().chain(paths::written(base)));
        read.extend(paths::read(base));
        let rules = Rules::new()?;
        let rules = written.iter().try_fold(rules, |rules, at| rules.grant(Grant::Write, at))?;
        read.iter().try_fold(rules, |rules, at| rules.grant(Grant::Read, at))
    }
}

fn expanded(place: &Path, home: Option<&Path>) -> PathBuf {
    match (place.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => place.to_owned(),
    }
}
