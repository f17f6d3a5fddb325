//! The approval of one tool call by a person: the human in the loop.

use crate::value::Digest;
use serde::{Deserialize, Serialize};

/// The tool call that an approval is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRef {
    /// Id of the call, unique within the attempts of the step.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Digest of the tool, the exact arguments and the working directory.
    pub args_hash: Digest,
}

/// A tool call that waits for the approval of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The call that waits for a decision.
    pub call: CallRef,
    /// What is asked: the tool, its arguments and the rule that requires an approval.
    pub text: String,
}
