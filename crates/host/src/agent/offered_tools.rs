//! The tools that an agent is offered, and its calls of them.

use kb_base::value::Json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The name of the server that has the tools, as agents show it.
pub(super) const SERVER: &str = "kb";

/// A tool as the model of an agent sees it.
#[derive(Debug, Clone)]
pub(crate) struct OfferedTool {
    /// The name in the form that models accept: letters, digits and `_`.
    pub(crate) name: String,
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    pub(crate) schema: Json,
    /// Whether it changes nothing.
    pub(crate) only_reads: bool,
}

/// A call that waits for its answer.
#[derive(Debug)]
pub(crate) struct Called {
    /// The name of the tool as the agent has it.
    pub(crate) tool: String,
    /// The arguments, not checked.
    pub(crate) args: Json,
    /// Cancelled when the agent does not wait any more.
    pub(crate) withdrawn: CancellationToken,
    /// Where the answer goes.
    pub(crate) answer: oneshot::Sender<Answered>,
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct Answered {
    /// What the model reads.
    pub(crate) text: String,
    /// Whether the call failed or was refused.
    pub(crate) has_failed: bool,
}
