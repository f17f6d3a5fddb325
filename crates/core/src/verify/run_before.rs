//! Commands of checks that ran before the step, on the files as they were then. The runtime records
//! each as a call for verification.

use crate::evidence::{Invocation, ProcessEvidence, Purpose};
use kb_base::value::Json;

/// The tool name of such a call.
pub const RUN_BEFORE: &str = "check:before";

/// The arguments of such a call.
pub fn check_args(argv: &[String]) -> Json {
    serde_json::json!({ "argv": argv })
}

/// The process that executed a command before the step; the first, if there are more.
pub(super) fn run_before<'a>(
    trace: &'a [Invocation],
    argv: &[String],
) -> Option<&'a ProcessEvidence> {
    let args = check_args(argv);
    let is_it = |call: &&Invocation| {
        call.purpose == Purpose::Verification && call.tool == RUN_BEFORE && call.args == args
    };
    trace.iter().find(is_it)?.process.as_deref()
}
