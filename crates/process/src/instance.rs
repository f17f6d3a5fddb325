//! The identity of this process among other `kb` processes.

use super::BaseEnvironment;
use super::base_environment::{HELPER_MARKER, MARKER};
use super::sandbox::Scratch;
use super::temporary::Temporary;
use std::fs::DirBuilder;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name, temporary directory and step counter of this process.
///
/// There is one for all supervisors, since the kernel adopts orphans per process, and the watchdog
/// and init process end with the process.
pub(super) struct Instance {
    name: String,
    outer_marker: Option<String>,
    temporary: Option<Temporary>,
    counter: AtomicU64,
}

impl Instance {
    /// The instance of this process. The first call creates the temporary directory.
    pub(super) fn of_process(base: &BaseEnvironment) -> &'static Instance {
        static INSTANCE: OnceLock<Instance> = OnceLock::new();
        INSTANCE.get_or_init(|| {
            let name = new_name();
            let temporary = Temporary::create(&base.temporary_root(), &name).ok();
            let outer_marker = base.outer_marker().map(str::to_owned);
            Instance { name, outer_marker, temporary, counter: AtomicU64::new(1) }
        })
    }

    /// `PID-RANDOM`, unique on this machine.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A token for the processes of one step, unique on this machine.
    pub(super) fn next_token(&self) -> String {
        format!("{}-{}", self.name, self.counter.fetch_add(1, Ordering::Relaxed))
    }

    /// The value of [`MARKER`] for a token.
    pub(super) fn marker(&self, token: &str) -> String {
        match &self.outer_marker {
            Some(outer) => format!("{outer},{token}"),
            None => token.to_owned(),
        }
    }

    /// The variable that marks a process as part of the step that `kb` itself runs in.
    pub(super) fn outer_variable(&self) -> Option<(&'static str, &str)> {
        Some((MARKER, self.outer_marker.as_deref()?))
    }

    /// The variables that mark a helper process. A helper belongs to no step of this `kb`, but to
    /// the step that this `kb` itself runs in.
    pub(super) fn helper_variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [(HELPER_MARKER, self.name.as_str())].into_iter().chain(self.outer_variable())
    }

    /// The private temporary directory. It contains one directory for the steps of the author and
    /// one for each sandbox.
    pub(super) fn temporary_directory(&self) -> Option<&Path> {
        self.temporary.as_ref().map(Temporary::path)
    }

    /// The temporary directory of processes that are not sandboxed.
    pub(super) fn steps_directory(&self) -> Option<PathBuf> {
        self.private(Path::new("steps"))
    }

    /// The directories of the sandboxed processes with this number.
    pub(super) fn scratch(&self, number: u64) -> Option<Scratch> {
        let own = PathBuf::from(format!("sandbox-{number}"));
        self.private(&own)?;
        let (temporary, caches) =
            (self.private(&own.join("tmp"))?, self.private(&own.join("cache"))?);
        Some(Scratch { temporary, caches })
    }

    /// Creates a directory in the temporary directory.
    fn private(&self, name: &Path) -> Option<PathBuf> {
        let temporary = self.temporary.as_ref()?;
        let path = temporary.path().join(name);
        let create = || match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        };
        create().or_else(|_| temporary.restore().and_then(|()| create())).ok()?;
        Some(path)
    }
}

fn new_name() -> String {
    let pid = std::process::id();
    format!("{pid}-{:x}", RandomState::new().hash_one(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_directory_is_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let temporary = Temporary::create(folder.path(), "1-a").unwrap();
        let counter = AtomicU64::new(1);
        let own = Instance {
            name: "1-a".to_owned(),
            outer_marker: None,
            temporary: Some(temporary),
            counter,
        };
        assert!(own.scratch(1).is_some());
        std::fs::remove_dir_all(own.temporary_directory().unwrap()).unwrap();
        assert!(own.scratch(2).is_some_and(|scratch| scratch.temporary.is_dir()));
        std::fs::remove_dir_all(own.temporary_directory().unwrap()).unwrap();
        assert!(own.steps_directory().is_some_and(|path| path.is_dir()));
    }
}
