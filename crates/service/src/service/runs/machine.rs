//! Facts about this machine that the first event of a run records.

use kb_base::value::Json;
use kb_engine::inspect::Frozen;
use kb_language::definition::ApprovalLevel;
use serde_json::json;

/// What this machine enforces on the processes of a run.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    /// The process control level.
    pub(super) process: &'static str,
    /// The sandbox level.
    pub(super) sandbox: ApprovalLevel,
    /// The restrictions of the level `kernel` that this machine cannot enforce.
    pub(super) sandbox_missing: Vec<&'static str>,
}

impl Machine {
    /// Facts about this machine and the limits of a run, for `run:start`.
    pub(super) fn environment(&self, frozen: &Frozen) -> Json {
        let mut environment = json!({
            "kb": env!("CARGO_PKG_VERSION"),
            "process": self.process,
            "sandbox": self.sandbox.as_str(),
            "maxParallel": frozen.max_parallel,
            "scripted": frozen.script.is_some(),
        });
        if let Some(base) = &frozen.base {
            environment["base"] = json!(base.view());
        }
        if !frozen.skip.is_empty() {
            environment["skip"] = json!(frozen.skip);
        }
        if !self.sandbox_missing.is_empty() {
            environment["sandboxMissing"] = json!(self.sandbox_missing);
        }
        environment
    }
}
