use super::{Executor, GateRequest, gate, http, input, process, tool};
use crate::attempt::{Context, Outcome, Request, SpecialistWork, StepWork};
use crate::diagnostic::Code;
use crate::evidence::{Record, Verification};
use crate::expression::Scope;
use crate::specialist::SpecialistRunner;
use crate::tool::Toolbox;
use crate::value::{Failure, OutcomeKind, WARNING};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Does the work on this machine.
#[derive(Clone)]
pub struct LocalExecutor {
    toolbox: Arc<Toolbox>,
    specialists: Option<Arc<SpecialistRunner>>,
}

impl LocalExecutor {
    /// With these tools; without a runner, specialist steps fail with the mend.
    pub fn new(toolbox: Arc<Toolbox>, specialists: Option<Arc<SpecialistRunner>>) -> Self {
        LocalExecutor { toolbox, specialists }
    }

    async fn attempt(self, request: Request, context: Context) -> Outcome {
        match &request.work {
            StepWork::Run { command, parse } => {
                process::run(&self.toolbox, &request, command, *parse, &context).await
            }
            StepWork::Tool { tool, args } => {
                tool::call(&self.toolbox, &request, tool.as_str(), args, &context).await
            }
            StepWork::Http { .. } => http::send(&self.toolbox, &request, &context).await,
            StepWork::Specialist(work) => self.specialist(&request, work.clone(), &context).await,
        }
    }

    async fn specialist(
        &self,
        request: &Request,
        mut work: SpecialistWork,
        context: &Context,
    ) -> Outcome {
        let Some(runner) = &self.specialists else {
            let failure = Failure::new(Code::NO_MODEL.as_str(), "there is no model for this run");
            return Outcome::failed(OutcomeKind::Unknown, failure);
        };
        let warnings = match input::fit(&mut work) {
            Ok(warnings) => warnings,
            Err(failure) => return Outcome::failed(OutcomeKind::ValidationFailed, *failure),
        };
        // A resumed attempt has said so before.
        if !warnings.is_empty() && work.history.is_empty() {
            let text = format!("{WARNING}{}", warnings.join("; "));
            if context.recorder.record(Record::Note { text }).await.is_err() {
                return process::lease_lost();
            }
        }
        runner.run(request, &work, context).await
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
