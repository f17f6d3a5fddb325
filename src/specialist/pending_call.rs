//! [`PendingCall`]: a tool call without a result.

use crate::value::Json;

/// A tool call that the model requested and that has no result yet.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingCall {
    /// The id, unique among the attempts of the step.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments as the model wrote them.
    pub args: Json,
    /// Whether its start was recorded.
    pub started: bool,
    /// Whether the model wrote it as text; its result is then sent as text too.
    pub as_text: bool,
}
