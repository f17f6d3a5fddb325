use super::rules::Rules;
use crate::process::BaseEnvironment;
use std::io;
use std::path::{Path, PathBuf};

/// Where a process and everything that it starts may write; the kernel refuses the rest (DESIGN §6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    write: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
}

/// Caches of package managers below the home directory. Not all of `~/.cargo`: its `bin` and
/// `config.toml` decide what later commands of the person run.
const CACHES: [&str; 12] = [
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".npm",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".gradle/caches",
    "go/pkg/mod",
    "Library/Caches",
];
/// Devices that hold nothing, and shared memory, which does not outlive the machine.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/shm"];

impl Confinement {
    /// These folders, beside the private temporary directory, caches and harmless devices.
    pub fn to(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Confinement { write: roots.into_iter().collect(), read_only: Vec::new() }
    }

    /// Places inside of these folders that it may not write either. Landlock cannot take away what
    /// it has given, so these are for a mount namespace, where there is one.
    #[must_use]
    pub fn but_not(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.read_only.extend(places);
        self
    }

    /// What [`Confinement::but_not`] was told: existing places to be mounted read-only over
    /// themselves in a mount namespace of the process's own.
    #[allow(dead_code, reason = "for the supervisor process")]
    pub(in crate::process) fn read_only(&self) -> &[PathBuf] {
        &self.read_only
    }

    /// The rules, with places that are not there left out.
    pub(in crate::process) fn rules(
        &self,
        base: &BaseEnvironment,
        temporary: Option<&Path>,
    ) -> io::Result<Rules> {
        let home = base.get("HOME").map(Path::new).filter(|home| home.is_absolute());
        let caches = CACHES.iter().filter_map(|cache| Some(home?.join(cache)));
        let devices = DEVICES.iter().map(PathBuf::from);
        let places = self.write.iter().cloned().chain(temporary.map(Path::to_owned)).chain(caches);
        places.chain(devices).try_fold(Rules::new()?, |rules, place| rules.write(&place))
    }
}
