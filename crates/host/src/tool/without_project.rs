//! Processes for which the project does not exist, because they get what models do not have: a network or a secret.

use super::opened_paths::{OpenedPaths, require_unseen};
use super::process_launcher::{ProcessLauncher, kernel, next_scratch};
use kb_base::value::Failure;
use kb_language::definition::NetworkAccess;
use kb_process::{Confinement, Network, Supervisor};
use std::path::PathBuf;

impl ProcessLauncher {
    /// Starts processes that see neither the project nor what `sandbox` opens for writing, whatever else they read: a folder
    /// of `PATH`, `/opt` and the like can contain both. Fails where the sandbox can hide nothing and they would be seen.
    pub(super) fn without_workspace(&self, network: NetworkAccess) -> Result<Supervisor, Failure> {
        let root = self.root();
        let mut opened = OpenedPaths::new(self.workspace(), self.unconfined());
        let read = opened.readable(&self.settings().sandbox.read);
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
        let written = self.written_by_models();
        if !self.unconfined().can_hide_paths() {
            let seen = self.unconfined().confined(confinement.clone());
            written.iter().try_for_each(|path| require_unseen(path, &seen))?;
        }
        Ok(self.unconfined().confined(confinement.with_hidden(closed).with_hidden(written)))
    }

    /// Starts processes for which neither the project, nor what the sandbox opens for writing, nor the state of `kb`, with
    /// the work trees of steps, exists, and which are otherwise free; `None` where this machine cannot hide them.
    pub fn without_project(&self) -> Option<Supervisor> {
        let everything = Confinement::to([PathBuf::from("/")]).with_network(Network::Open);
        let state = self.workspace().state_of_kb().iter().cloned();
        let hidden = everything.with_hidden(state.chain(self.written_by_models()));
        let can_hide = self.can_confine() && self.unconfined().can_hide_paths();
        can_hide.then(|| self.unconfined().confined(hidden.with_scratch(next_scratch())))
    }

    /// The project, and what the sandbox opens for writing, without links. What does not exist is left out.
    fn written_by_models(&self) -> Vec<PathBuf> {
        let opened = self.base().untrusted().iter().filter_map(|path| path.canonicalize().ok());
        [self.root().to_owned()].into_iter().chain(opened).collect()
    }
}
