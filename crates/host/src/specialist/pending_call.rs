//! [`PendingCall`]: a tool call without a result.

use kb_core::evidence::CallRequest;
use std::ops::Deref;

/// A tool call that the model requested and that has no result yet.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingCall {
    /// The call; its id is unique among the attempts of the step.
    pub request: CallRequest,
    /// Whether its start was recorded.
    pub started: bool,
    /// Whether the model wrote it as text; its result is then sent as text too.
    pub as_text: bool,
}

impl Deref for PendingCall {
    type Target = CallRequest;

    fn deref(&self) -> &CallRequest {
        &self.request
    }
}
