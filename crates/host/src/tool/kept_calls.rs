//! [`KeptCalls`]: results of calls over the network, for a recorded run that becomes a test.

use super::call::{Call, CallResult};
use kb_base::value::{Json, json_text};
use kb_core::evidence::InvocationStatus;
use kb_language::toolspec::ToolSpec;
use std::sync::{Mutex, PoisonError};

/// Maximum number of kept calls of a run.
const CALLS: usize = 1000;
/// Maximum size of a kept result as JSON, in bytes.
const RESULT_BYTES: usize = 256 << 10;

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptCall {
    /// Name of the tool.
    pub tool: String,
    /// The arguments. They are not masked.
    pub args: Json,
    /// The masked result, or the message of the failure.
    pub result: Result<Json, String>,
}

/// The results of calls that a machine without a network could not repeat, in the order of their ends.
#[derive(Debug, Default)]
pub struct KeptCalls(Mutex<Vec<KeptCall>>);

impl KeptCalls {
    /// The calls so far; of calls with equal arguments the first one.
    pub fn all(&self) -> Vec<KeptCall> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps the masked result of a call, if its tool uses the network.
    pub(super) fn keep(&self, spec: &ToolSpec, call: &Call, result: &CallResult) {
        if !spec.network || spec.runs_processes || json_text(&result.result).len() > RESULT_BYTES {
            return;
        }
        let kept = KeptCall {
            tool: spec.name.to_string(),
            args: call.args.clone(),
            result: match (result.status, &result.failure) {
                (InvocationStatus::Success, _) => Ok(result.result.clone()),
                (_, Some(failure)) => Err(failure.message.clone()),
                (_, None) => Err("the call failed".to_owned()),
            },
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = all.iter().any(|one| one.tool == kept.tool && one.args == kept.args);
        if all.len() < CALLS && !is_known {
            all.push(kept);
        }
    }
}
