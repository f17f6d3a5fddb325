//! `playbook` steps: the interface to child runs.

use super::Executor;
use futures::future::BoxFuture;
use kb_attempt::{Context, Outcome, Request};
use kb_base::value::DefinitionId;
use std::sync::Arc;

/// Executes child runs. The service implements it, because a child run has a journal entry and a lease
/// of its own.
pub trait ChildRuns: Send + Sync {
    /// Executes the child run of a [`StepWork::Playbook`](kb_attempt::StepWork::Playbook) attempt
    /// with this executor. The outcome contains the outputs of the child run.
    fn run(
        &self,
        request: Request,
        context: Context,
        executor: Arc<dyn Executor>,
    ) -> BoxFuture<'static, Outcome>;
    /// Whether it has the plan of this definition.
    fn knows(&self, definition: &DefinitionId) -> bool;
}
