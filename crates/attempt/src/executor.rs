//! What an executor of attempts and gates does.

use crate::{Context, FileItems, GateRequest, Outcome, Request, TreeRequest};
use futures::future::BoxFuture;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, InstanceKey, RunId};
use kb_core::evidence::{Merged, Verification};
use kb_language::expression::Scope;
use std::sync::Arc;

/// Executes attempts and evaluates gates.
pub trait Executor: Send + Sync {
    /// Executes one attempt. Never panics; ends when the work is done, at its timeout, or when
    /// `context.cancel` is cancelled.
    fn execute(&self, request: Request, context: Context) -> BoxFuture<'static, Outcome>;

    /// Lists the items of a `forEach` that are project files or lines of one.
    fn list(&self, asked: FileItems) -> BoxFuture<'static, Result<Vec<String>, Failure>> {
        let message = format!("this executor has no files: {asked:?}");
        Box::pin(async { Err(Failure::new(Code::INTERNAL_ERROR, message)) })
    }

    /// Merges the changes of worktrees and copies into the project, in this order. Each is merged whole or
    /// not at all. May be repeated after a crash, with the same result.
    fn merge(&self, trees: Vec<TreeRequest>) -> BoxFuture<'static, Merged> {
        let message = format!("this executor has no files: {trees:?}");
        let failure = Some(Failure::new(Code::INTERNAL_ERROR, message));
        Box::pin(async { Merged { trees: Vec::new(), failure } })
    }

    /// A step with `cache` ended in this iteration or pass, and its event is stored. If it succeeded, its
    /// result may be stored.
    fn ended(&self, _run: &RunId, _instance: &InstanceKey, _succeeded: bool) {}

    /// Evaluates a gate. Always ends.
    fn verify(
        &self,
        request: GateRequest,
        scope: Arc<dyn Scope + Send + Sync>,
        context: Context,
    ) -> BoxFuture<'static, Verification>;
}
