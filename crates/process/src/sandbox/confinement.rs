//! The paths that a sandboxed process may use.

use super::isolation::{Isolation, Network};
use super::mount_plan::{MountPlan, expanded_root};
use super::paths;
use super::real_paths::{RealPaths, outermost};
use super::rules::{Access, Rules};
use crate::BaseEnvironment;
use std::ffi::OsString;
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
    hidden: Vec<PathBuf>,
    /// Caches below these folders are not written.
    unwritten: Vec<PathBuf>,
    network: Network,
    scratch: Option<u64>,
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

    /// Adds a project to read, in which not even caches are written.
    #[must_use]
    pub fn with_unwritten(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.unwritten.extend(paths);
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

    /// Denies writing to paths inside the permitted folders, and keeps their parents in place.
    /// Landlock cannot revoke access that a parent folder grants, so this needs a mount namespace
    /// and has no effect at the level `group`.
    #[must_use]
    pub fn with_read_only(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.read_only.extend(paths);
        self
    }

    /// Hides existing paths inside the permitted folders: they can be neither read nor written, renamed
    /// or removed. Needs a mount namespace, as [`Confinement::with_read_only`] does.
    #[must_use]
    pub fn with_hidden(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.hidden.extend(paths);
        self
    }

    /// The network that the process can use.
    #[must_use]
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Selects the private temporary directory: processes with the same number share one.
    #[must_use]
    pub fn with_scratch(mut self, number: u64) -> Self {
        self.scratch = Some(number);
        self
    }

    /// The number of the private temporary directory.
    pub(crate) fn scratch(&self) -> u64 {
        self.scratch.unwrap_or_default()
    }

    /// The isolation of the process, as far as it is available.
    pub(crate) fn isolation(&self, available: Isolation) -> Isolation {
        let wanted = Isolation::MOUNTS;
        let wanted = match self.network {
            Network::Open => wanted,
            Network::Loopback | Network::None => wanted.with(Isolation::NETWORK),
        };
        match self.network {
            Network::None => wanted.and(available).with(Isolation::NO_SOCKETS),
            _ => wanted.and(available),
        }
    }

    /// The mounts of what the process may use, without what is protected or hidden in it.
    pub(super) fn granted_mounts(
        &self,
        base: &BaseEnvironment,
        scratch: Option<&Scratch>,
        (host, has_overlays): (RealPaths, bool),
    ) -> MountPlan {
        let read: Vec<PathBuf> = self.read.iter().map(|path| expanded(path, base)).collect();
        let mut write = self.writable(base);
        write.extend(self.write_only.iter().cloned());
        let mut plan = MountPlan::new(host, has_overlays);
        if let (Some(scratch), Some(caches)) = (scratch, paths::caches_root(base)) {
            plan.mount_from(&scratch.caches, &caches);
        }
        write.extend(scratch.map(|scratch| scratch.temporary.clone()));
        plan.grant(&paths::mounted(base), &read, &write);
        plan.allow(&paths::readable(base));
        plan
    }

    /// The paths that it protects and hides.
    pub(super) fn closed(&self) -> [Vec<PathBuf>; 2] {
        [self.read_only.clone(), self.hidden.clone()]
    }

    /// The mount plan: the texts that a namespace worker carries out.
    pub(super) fn mounts(&self, mut granted: MountPlan) -> Vec<OsString> {
        granted.protect(&self.read_only);
        granted.hide(&self.hidden);
        granted.into_texts()
    }

    /// The paths of its own that the rules permit to write, to write only, and to read, and those without caches.
    pub(crate) fn paths(&self) -> [Vec<PathBuf>; 4] {
        [&self.write, &self.write_only, &self.read, &self.unwritten].map(Clone::clone)
    }

    /// Its own paths that a process may write, may read, may only read, and does not see.
    pub(super) fn granted(&self, base: &BaseEnvironment) -> [Vec<PathBuf>; 4] {
        let expand = |paths: &Vec<PathBuf>| paths.iter().map(|path| expanded(path, base)).collect();
        let mut write: Vec<PathBuf> = expand(&self.write);
        write.extend(self.write_only.iter().cloned());
        [write, expand(&self.read), self.read_only.clone(), self.hidden.clone()]
    }

    /// Whether a real path is in a folder in which not even caches are written.
    pub(super) fn is_unwritten(&self, real: &Path) -> bool {
        self.unwritten.iter().any(|folder| real.starts_with(folder))
    }

    /// The rules. Paths that do not exist are skipped, and so are those that a folder with the same access contains, and
    /// those of which a process sees an overlay: the kernel merges the rules for each process.
    pub(super) fn rules(
        &self,
        base: &BaseEnvironment,
        scratch: Option<&Scratch>,
        plan: &mut MountPlan,
    ) -> io::Result<Rules> {
        let mut write = self.writable(base);
        write.extend(scratch.iter().flat_map(|one| [one.temporary.clone(), one.caches.clone()]));
        let all = [
            (Access::Write, write),
            (Access::WriteOnly, self.write_only.clone()),
            (Access::Open, self.read.iter().map(|path| expanded(path, base)).collect()),
            (Access::Read, paths::readable(base)),
        ];
        let mut rules = Rules::new()?;
        for (access, paths) in all {
            // In the new root, nothing lies below the `/` of this process.
            let paths = paths.iter().flat_map(|path| expanded_root(path));
            let real: Vec<PathBuf> = paths.filter_map(|path| plan.real(&path)).collect();
            let is_named = |path: &PathBuf| access != Access::Read || !plan.is_overlay(path);
            for path in outermost(real.into_iter().filter(is_named)) {
                rules = rules.allow(access, &path)?;
            }
        }
        plan.forget_host();
        Ok(rules)
    }

    /// The real paths of the host, where this process and others write below these folders.
    pub(super) fn real_paths(&self, base: &BaseEnvironment) -> RealPaths {
        let own = self.write.iter().chain(&self.write_only).map(|path| expanded(path, base));
        RealPaths::new(own.chain(base.written()))
    }

    fn writable(&self, base: &BaseEnvironment) -> Vec<PathBuf> {
        let own = self.write.iter().map(|path| expanded(path, base));
        let is_written =
            |path: &PathBuf| !path.canonicalize().is_ok_and(|real| self.is_unwritten(&real));
        own.chain(paths::writable(base).into_iter().filter(is_written)).collect()
    }
}

/// The private directories of sandboxed processes.
pub(crate) struct Scratch {
    /// The directory for temporary files.
    pub(crate) temporary: PathBuf,
    /// The directory that they see in place of the directory of caches in the home directory.
    pub(crate) caches: PathBuf,
}

fn expanded(path: &Path, base: &BaseEnvironment) -> PathBuf {
    match (path.strip_prefix("~"), base.get("HOME")) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => path.to_owned(),
    }
}
