//! What coding agents do in their turns, as recordings keep it and replays do it again.

use kb_base::value::Json;
use kb_core::evidence::InvocationStatus;
use kb_language::definition::AgentEvent as Written;
use kb_language::expression::EvalError;
use serde_json::json;
use std::sync::Arc;

/// One thing that a coding agent did in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// It called this tool of its specialist.
    Called {
        /// Name of the tool.
        tool: String,
        /// The arguments.
        args: Json,
    },
    /// It reported a call of a tool of its own.
    Reported {
        /// Such as `execute`.
        kind: String,
        /// What it told.
        args: Json,
        /// How the call ended, as it says.
        status: InvocationStatus,
    },
    /// It asked whether it may call a tool of its own.
    Asked {
        /// Such as `edit`.
        kind: String,
        /// What it wants to do.
        args: Json,
    },
    /// It wrote a file by itself.
    Wrote {
        /// Relative to the project.
        path: String,
        /// The text of the file.
        content: String,
    },
    /// It deleted a file by itself.
    Deleted {
        /// Relative to the project.
        path: String,
    },
}

impl AgentEvent {
    /// Whether the event is a record of its own, so that an attempt that continues has it already.
    pub fn is_call(&self) -> bool {
        match self {
            AgentEvent::Called { .. } | AgentEvent::Reported { .. } => true,
            AgentEvent::Asked { .. } | AgentEvent::Wrote { .. } | AgentEvent::Deleted { .. } => {
                false
            }
        }
    }

    /// The event in a script.
    pub(super) fn to_json(&self, literal: impl Fn(&Json) -> Json) -> Json {
        match self {
            AgentEvent::Called { tool, args } => json!({"tool": tool, "args": literal(args)}),
            AgentEvent::Reported { kind, args, status } => {
                json!({"reports": kind, "args": literal(args), "status": status.as_str()})
            }
            AgentEvent::Asked { kind, args } => json!({"asks": kind, "args": literal(args)}),
            AgentEvent::Wrote { path, content } => json!({"writes": path, "content": content}),
            AgentEvent::Deleted { path } => json!({"deletes": path}),
        }
    }

    /// The event that a script has.
    pub(super) fn of(
        written: &Written,
        params: &Arc<Json>,
    ) -> Result<Option<AgentEvent>, EvalError> {
        let Written { tool, reports, asks, writes, deletes, content, status, .. } = written;
        let args = || written.args_with(params);
        Ok(if let Some(tool) = tool {
            Some(AgentEvent::Called { tool: tool.clone(), args: args()? })
        } else if let Some(kind) = reports {
            let known = [InvocationStatus::Failed, InvocationStatus::Unknown];
            let said = known.into_iter().find(|known| Some(known.as_str()) == status.as_deref());
            let status = said.unwrap_or(InvocationStatus::Success);
            Some(AgentEvent::Reported { kind: kind.clone(), args: args()?, status })
        } else if let Some(kind) = asks {
            Some(AgentEvent::Asked { kind: kind.clone(), args: args()? })
        } else if let Some(path) = writes {
            let content = content.clone().unwrap_or_default();
            Some(AgentEvent::Wrote { path: path.clone(), content })
        } else {
            deletes.as_ref().map(|path| AgentEvent::Deleted { path: path.clone() })
        })
    }
}
