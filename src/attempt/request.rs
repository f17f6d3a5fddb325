use super::StepWork;
use crate::value::{InstanceKey, RunId};
use std::time::Duration;

/// Everything that one attempt needs, rendered.
#[derive(Debug, Clone)]
pub struct Request {
    /// The run.
    pub run: RunId,
    /// Which step or item.
    pub instance: InstanceKey,
    /// From 1.
    pub iteration: u32,
    /// From 1 in each iteration.
    pub attempt: u32,
    /// What to do.
    pub work: StepWork,
    /// Bound of the attempt; on expiry the outcome is `timeout`.
    pub timeout: Option<Duration>,
    /// Bound of silence: no output, token or tool call for this long is a `timeout` too.
    pub idle: Option<Duration>,
    /// Environment of its processes, rendered, secrets in the clear.
    pub env: Vec<(String, String)>,
    /// Working directory relative to the workspace root; empty is the root.
    pub cwd: String,
    /// Whether manifests are taken around its processes.
    pub evidence: bool,
}

impl Request {
    /// The same for every try of this work in this iteration (DESIGN §4 c): run/instance/iteration.
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}/{}", self.run, self.instance, self.iteration)
    }

    /// What every process of the attempt is told about itself, a specialist's shells too.
    pub fn identity(&self) -> [(String, String); 4] {
        [
            ("KB_RUN".to_owned(), self.run.to_string()),
            ("KB_STEP".to_owned(), self.instance.to_string()),
            ("KB_ATTEMPT".to_owned(), self.attempt.to_string()),
            ("KB_IDEMPOTENCY_KEY".to_owned(), self.idempotency_key()),
        ]
    }
}
