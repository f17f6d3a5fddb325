//! Processes for which the project does not exist, because they get what models do not have: a network or a secret.

use super::opened_paths::{OpenedPaths, require_unseen};
use super::process_launcher::{ProcessLauncher, kernel, next_scratch};
use kb_base::value::Failure;
use kb_language::definition::NetworkAccess;
use kb_process::{Confinement, Supervisor};
use std::path::{Path, PathBuf};

impl ProcessLauncher {
    /// Starts processes that see neither the project nor what `sandbox` opens for writing, whatever else they read: a folder
    /// of `PATH`, `/opt` and the like can contain both. Fails where the sandbox can hide nothing and they would be seen.
    pub(super) fn without_workspace(&self, network: NetworkAccess) -> Result<Supervisor, Failure> {
        let root = self.root();
        let mut opened = OpenedPaths::new(self.workspace(), self.unconfined());
        let read = opened.readable(&self.settings().sandbox_read);
        let is_outside = |path: &PathBuf| {
            let real = path.canonicalize().unwrap_or_default();
            !real.starts_with(root) && !root.starts_with(real)
        };
        let read: Vec<PathBuf> = read.into_iter().filter(is_outside).collect();
        let (closed, _) = opened.closed();
        let confinement = Confinement::default()
            .with_read(read)
            .with_unwritten([root.to_owned()])
            .with_network(kernel(network))
            .with_scratch(next_scratch());
        let written =
            [root].into_iter().chain(self.base().untrusted().iter().map(PathBuf::as_path));
        let written: Vec<PathBuf> =
            written.filter(|path| path.exists()).map(Path::to_owned).collect();
        if !self.unconfined().can_hide_paths() {
            let seen = self.unconfined().confined(confinement.clone());
            written.iter().try_for_each(|path| require_unseen(path, &seen))?;
        }
        Ok(self.unconfined().confined(confinement.with_hidden(closed).with_hidden(written)))
    }
}
