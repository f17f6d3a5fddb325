use crate::definition::{ProcessChoice, Settings, SyncMode};
use crate::journal::{Journal, JournalError};
use crate::process::{BaseEnvironment, Supervisor};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a run takes context.
#[derive(Debug, Clone)]
pub struct ProjectContext {
    /// The project root: the workspace of every step.
    pub root: PathBuf,
    /// Where the journal lives, outside what steps may write.
    pub state_dir: PathBuf,
    /// The environment that `kb` was started with.
    pub env: BTreeMap<String, String>,
}

impl ProjectContext {
    /// Opens the journal of this context.
    pub fn journal(&self, sync: SyncMode) -> Result<Arc<dyn Journal>, JournalError> {
        crate::journal::open(&self.state_dir, sync)
    }

    /// What starts processes here, as the settings want them held together.
    pub fn supervisor(&self, settings: &Settings) -> Supervisor {
        let base = BaseEnvironment::select(self.env.clone(), &settings.env_pass);
        match settings.processes {
            ProcessChoice::Group => Supervisor::new(base).without_namespaces(),
            ProcessChoice::Auto | ProcessChoice::PidNamespace => Supervisor::new(base),
        }
    }
}
