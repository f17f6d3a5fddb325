//! [`Brief`]: the fixed inputs of an attempt.

use super::context::ContextLimits;
use super::submit::Submission;
use kb_core::evidence::SessionBrief;
use kb_language::definition::LoopLimits;
use kb_language::toolspec::ToolCatalog;
use std::sync::Arc;

/// The fixed inputs of an attempt.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The number of the attempt, from 1; part of the ids of tool calls.
    pub attempt: u32,
    /// The system prompt.
    pub system: String,
    /// The first user message: the task, its input, and the evidence of a failed attempt.
    pub task: String,
    /// What earlier steps left behind.
    pub session: Option<Arc<SessionBrief>>,
    /// Names of the tools on the allow-list, to recognise other forms of them.
    pub tools: Vec<String>,
    /// The tools of the run.
    pub catalog: ToolCatalog,
    /// Limits on turns, tool calls and time.
    pub limits: LoopLimits,
    /// What of the conversation the model sees.
    pub context: ContextLimits,
    /// The required output.
    pub submission: Submission,
}
