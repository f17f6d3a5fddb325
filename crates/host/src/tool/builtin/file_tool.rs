//! The common part of the file tools: they run on a blocking thread.

use crate::tool::call::{Call, CallResult, Refusal};
use crate::tool::context::{CallContext, Tool, cancelled, on_blocking_thread};
use crate::workspace::FileAccess;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

/// A tool that works with files. It runs on a blocking thread and is always waited for: when the call
/// has ended, nothing of it is still running.
pub(super) struct FileTool<A> {
    name: &'static str,
    execute: Execute<A>,
}

type Execute<A> = fn(&A, &FileAccess, &CancellationToken) -> Result<CallResult, Refusal>;

impl<A> FileTool<A> {
    /// A tool that executes this function; its arguments match the schema of the tool.
    pub(super) fn new(name: &'static str, execute: Execute<A>) -> Self {
        FileTool { name, execute }
    }
}

impl<A: DeserializeOwned + Send + 'static> Tool for FileTool<A> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        let (execute, files, token) = (self.execute, context.files.clone(), cancel.clone());
        Box::pin(on_blocking_thread(call, move |args: A| {
            if token.is_cancelled() { Ok(cancelled()) } else { execute(&args, &files, &token) }
        }))
    }
}
