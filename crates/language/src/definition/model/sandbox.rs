//! `sandbox:` of a step: whether its commands run in the sandbox, and what that opens.

use super::NetworkAccess;
use crate::definition::keys::keys;
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

keys! {
    /// What the sandbox of the commands of a step opens; with it, they always run there.
    pub struct SandboxOpening(Debug, Clone, Default, PartialEq, Eq, Serialize): STEP_SANDBOX = ("stepSandbox", "`sandbox` of a step") {
        /// The network that they can use.
        network: NetworkAccess = "network", default("loopback");
        /// Additional paths to read; `~/` is the home directory.
        read: Vec<String> = "read", example("[~/models]");
        /// Additional paths to read and write.
        write: Vec<String> = "write", example("[.git]");
    }
}

/// What a step of the author, or the settings for all of them, say about the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepSandbox {
    /// Whether the commands run in the sandbox.
    pub when: AuthorSandbox,
    /// What it opens.
    pub opening: Arc<SandboxOpening>,
}

impl StepSandbox {
    /// The stricter of both: what either keeps closed is closed. `auto` opens nothing.
    #[must_use]
    pub fn narrowed_by(&self, other: &StepSandbox) -> StepSandbox {
        let when = self.when.max(other.when);
        let [one, two] = match (self.when, other.when) {
            (AuthorSandbox::Never, _) => [&other.opening; 2],
            (_, AuthorSandbox::Never) => [&self.opening; 2],
            (AuthorSandbox::Auto | AuthorSandbox::Always, _) => [&self.opening, &other.opening],
        };
        let common = |one: &[String], two: &[String]| -> Vec<String> {
            one.iter().filter(|path| two.contains(path)).cloned().collect()
        };
        let opening = SandboxOpening {
            network: one.network.narrower(two.network),
            read: common(&one.read, &two.read),
            write: common(&one.write, &two.write),
        };
        StepSandbox { when, opening: Arc::new(opening) }
    }
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
