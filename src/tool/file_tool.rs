use super::call::{Call, CallResult, Refusal};
use super::toolbox::{Toolbox, arguments, stopped};
use super::{Tool, ToolSpec};
use crate::workspace::FileAccess;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

/// A tool that works with files: away from the threads that wait for events, and never left alone.
/// When the call has ended, nothing of it goes on.
pub(super) struct FileTool<A> {
    spec: ToolSpec,
    work: Work<A>,
}

type Work<A> = fn(&A, &FileAccess, &CancellationToken) -> Result<CallResult, Refusal>;

impl<A> FileTool<A> {
    /// With what it does; its arguments have been held to its schema.
    pub(super) fn new(spec: ToolSpec, work: Work<A>) -> Self {
        FileTool { spec, work }
    }
}

impl<A: DeserializeOwned + Send + 'static> Tool for FileTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        toolbox: &'a Toolbox,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            let args = match arguments::<A>(call) {
                Ok(args) => args,
                Err(refusal) => return refusal.into(),
            };
            if cancel.is_cancelled() {
                return stopped();
            }
            let (work, files, token) = (self.work, toolbox.files(self.spec.name), cancel.clone());
            let done = tokio::task::spawn_blocking(move || work(&args, &files, &token)).await;
            done.map_or_else(|_| stopped(), CallResult::from)
        })
    }
}
