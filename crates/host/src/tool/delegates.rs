//! [`Delegates`]: who executes the tasks that a specialist delegates.

use futures::future::BoxFuture;
use kb_base::value::{Failure, Json};
use kb_core::evidence::Record;
use tokio_util::sync::CancellationToken;

/// A task for another specialist.
#[derive(Debug, Clone)]
pub(crate) struct DelegatedTask {
    /// Id of the tool call. A call that is repeated after a crash continues its task.
    pub(crate) call: String,
    /// Id of the specialist.
    pub(crate) agent: String,
    /// What it is told: who delegates, the task, and the context.
    pub(crate) task: String,
    /// The start of the task.
    pub(crate) title: String,
    /// Level of its run below the first one, from 1.
    pub(crate) depth: u32,
    /// Lower is more urgent.
    pub(crate) priority: u32,
}

/// What became of a task.
#[derive(Debug, Clone)]
pub(crate) struct DelegateEnd {
    /// Id of the child run.
    pub(crate) run: String,
    /// The output of the specialist, or why there is none.
    pub(crate) output: Result<Json, Failure>,
}

/// Executes the tasks that one attempt of a specialist delegates, each as a child run.
pub(crate) trait Delegates: Send + Sync {
    /// Levels of runs above the attempt.
    fn depth(&self) -> u32;
    /// Whether tasks can be delegated to a specialist in this run.
    fn knows(&self, agent: &str) -> bool;
    /// Takes one of this many tasks that the attempt may delegate; `false` if it has delegated as many. A call that is
    /// repeated counts once.
    fn take(&self, call: &str, most: u32) -> bool;
    /// The records of the ends of tasks since the last call of this, which the conversation counts.
    fn take_ended(&self) -> Vec<Record>;
    /// Executes a task to its end.
    fn execute<'a>(
        &'a self,
        task: DelegatedTask,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, DelegateEnd>;
}
