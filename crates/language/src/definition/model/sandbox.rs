//! `sandbox:` of a step: whether its commands run in the sandbox, and what that opens.

use super::NetworkAccess;
use serde::Serialize;
use std::sync::Arc;

/// `sandbox:`: whether the commands of a step of the author run in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum AuthorSandbox {
    /// In no case.
    Never,
    /// After a specialist of the run that could write, and if they read foreign values.
    #[default]
    Auto,
    /// In any case.
    Always,
}

/// The map form of `sandbox:`: what the sandbox of a step's commands opens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SandboxOpening {
    /// The network that they can use.
    pub network: NetworkAccess,
    /// Additional paths that they may read; `~/` is the home directory.
    pub read: Vec<String>,
    /// Additional paths that they may read and write.
    pub write: Vec<String>,
}

/// What a step of the author says about its sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSandbox {
    /// Whether the commands run in the sandbox.
    pub when: AuthorSandbox,
    /// What it opens.
    pub opening: Arc<SandboxOpening>,
}

impl From<AuthorSandbox> for StepSandbox {
    fn from(when: AuthorSandbox) -> StepSandbox {
        StepSandbox { when, opening: Arc::default() }
    }
}

impl From<NetworkAccess> for SandboxOpening {
    fn from(network: NetworkAccess) -> SandboxOpening {
        SandboxOpening { network, ..SandboxOpening::default() }
    }
}
