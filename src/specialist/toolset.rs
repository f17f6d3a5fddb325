use crate::evidence::Invocation;
use crate::llm::ToolDescription;
use crate::tool::{Call, CallResult, Toolbox};
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

impl ToolSet for Toolbox {
    fn for_attempt(&self, limit: Duration) -> Arc<dyn ToolSet> {
        Arc::new(Toolbox::for_attempt(self, Some(limit)))
    }

    fn describe(&self, whitelist: &[String]) -> Vec<ToolDescription> {
        let described = Toolbox::describe(self, whitelist).into_iter();
        let for_models = described.map(|tool| ToolDescription {
            name: tool.name,
            description: tool.description,
            schema: tool.schema,
        });
        for_models.collect()
    }

    fn only_reads(&self, tool: &str) -> bool {
        self.spec(tool).is_some_and(|spec| spec.only_reads)
    }

    fn keep(&self, call: &str, text: &str) {
        self.outputs().keep(call, text);
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, (CallResult, Invocation)> {
        Box::pin(Toolbox::call(self, call, cancel))
    }
}
