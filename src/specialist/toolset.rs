use crate::evidence::Invocation;
use crate::llm::ToolDescription;
use crate::tool::{Call, CallResult};
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What the loop needs of a toolbox. Whether a call is allowed is for the other side to say: the
/// loop passes on whatever a model asks for.
pub trait ToolSet: Send + Sync {
    /// The same tools for one attempt, with its own store of whole results; no process of it may
    /// take longer than `limit`.
    fn for_attempt(&self, limit: Duration) -> Arc<dyn ToolSet>;
    /// The tools that a specialist with this whitelist may call, as its model sees them.
    fn describe(&self, whitelist: &[String]) -> Vec<ToolDescription>;
    /// Whether calling it twice changes nothing.
    fn only_reads(&self, tool: &str) -> bool;
    /// Keeps the whole result of a call that was made by an earlier holder, for reading on.
    fn keep(&self, call: &str, text: &str);
    /// Makes the call; the evidence of it comes from the same side.
    fn call<'a>(
        &'a self,
        call: &'a Call,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, (CallResult, Invocation)>;
}
