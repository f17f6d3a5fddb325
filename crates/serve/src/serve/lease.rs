//! The lease of a state folder: one daemon at a time.

use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_engine::journal::{release, try_own};
use kb_service::service::ServiceError;
use kb_service::trigger::{LEASE_FILE, daemon_of, write_lease};
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The file in a state folder with the address of the server, while it runs.
pub(crate) const ADDRESS_FILE: &str = "serve.address";

/// The address of the server that serves a state folder now; `None` if none listens.
pub(crate) fn address_in(state_dir: &Path) -> Option<String> {
    let url = std::fs::read_to_string(state_dir.join(ADDRESS_FILE)).ok()?;
    Some(url.trim().to_owned())
}

/// The right to serve a project. The kernel ends it with the process.
#[derive(Debug)]
pub struct ServeLease {
    file: File,
}

impl ServeLease {
    /// Takes the lease of a state folder. `root` is the project, for the message.
    pub fn take(state_dir: &Path, root: &Path) -> Result<ServeLease, ServiceError> {
        let failed = |error: std::io::Error| {
            let message =
                format!("cannot lock `{}`: {error}", state_dir.join(LEASE_FILE).display());
            ServiceError::environment(Failure::new(Code::JOURNAL_UNUSABLE, message))
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(state_dir).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(state_dir.join(LEASE_FILE)).map_err(failed)?;
        if !try_own(&file).map_err(failed)? {
            let pid = daemon_of(state_dir);
            let process = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            let message =
                format!("`kb serve` is already running for `{}`{process}", root.display());
            let help = "use the running one, or stop it; the runs that it started continue";
            let failure = Failure::new(Code::DAEMON_RUNNING, message).help(help);
            return Err(ServiceError::environment(failure));
        }
        write_lease(&file, None).map_err(failed)?;
        Ok(ServeLease { file })
    }

    /// Tells other processes what keeps this one from serving the project.
    pub(super) fn tell(&self, problem: Option<&str>) {
        if let Err(error) = write_lease(&self.file, problem) {
            tracing::warn!("`{LEASE_FILE}` cannot be written: {error}");
        }
    }
}

impl Drop for ServeLease {
    fn drop(&mut self) {
        release(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_with_its_owner_and_not_with_a_process_that_starts_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let first = ServeLease::take(folder.path(), folder.path()).unwrap();
        assert!(ServeLease::take(folder.path(), folder.path()).is_err());
        // A process has the open files of its parent until it executes its program.
        let inherited = first.file.try_clone().unwrap();
        drop(first);
        assert!(ServeLease::take(folder.path(), folder.path()).is_ok());
        drop(inherited);
    }
}
