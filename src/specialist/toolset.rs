use crate::llm::ToolDescription;
use crate::tool::{Call, CallResult};
use crate::value::Json;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// What the loop needs of a toolbox. Whether a call is allowed is for the other side to say: the
/// loop passes on whatever a model asks for.
pub trait ToolSet: Send + Sync {
    /// The tool as a model sees it; `None` where there is none.
    fn describe(&self, tool: &str) -> Option<ToolDescription>;
    /// Whether calling it twice changes nothing.
    fn only_reads(&self, tool: &str) -> bool;
    /// Keeps a whole result under its call's id, for the tool that reads on.
    fn keep(&self, reference: &str, result: &Json);
    /// Makes the call.
    fn call<'a>(
        &'a self,
        call: &'a Call,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult>;
}
