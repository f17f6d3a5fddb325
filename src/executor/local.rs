//! [`LocalExecutor`]: executes attempts on this machine, one module per step kind.

use super::{Executor, GateRequest, gate, http, run, specialist, tool};
use crate::attempt::{Context, Outcome, Request, StepWork};
use crate::evidence::Verification;
use crate::expression::Scope;
use crate::specialist::SpecialistRunner;
use crate::tool::Toolbox;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Executes attempts with the tools and models of this machine.
#[derive(Clone)]
pub struct LocalExecutor {
    toolbox: Arc<Toolbox>,
    specialists: Option<Arc<SpecialistRunner>>,
}

impl LocalExecutor {
    /// An executor with these tools. Without a runner, specialist steps fail with `KB0701`.
    pub fn new(toolbox: Arc<Toolbox>, specialists: Option<Arc<SpecialistRunner>>) -> Self {
        LocalExecutor { toolbox, specialists }
    }

    async fn attempt(self, request: Request, context: Context) -> Outcome {
        let toolbox = &*self.toolbox;
        match &request.work {
            StepWork::Run { command, parse } => {
                run::run(toolbox, &request, command, *parse, &context).await
            }
            StepWork::Tool { tool, args } => {
                tool::call(toolbox, &request, tool.as_str(), args, &context).await
            }
            StepWork::Http(work) => http::send(toolbox, &request, work, &context).await,
            StepWork::Specialist(work) => {
                let runner = self.specialists.as_deref();
                specialist::run(runner, &request, work.clone(), &context).await
            }
        }
    }
}

impl Executor for LocalExecutor {
    fn execute(&self, request: Request, context: Context) -> BoxFuture<'static, Outcome> {
        self.clone().attempt(request, context).boxed()
    }

    fn verify(
        &self,
        request: GateRequest,
        scope: Arc<dyn Scope + Send + Sync>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Verification> {
        let toolbox = self.toolbox.clone();
        async move { gate::run_gate(request, &*scope, &toolbox, &cancel).await }.boxed()
    }
}
