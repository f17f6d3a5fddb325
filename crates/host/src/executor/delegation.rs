//! [`Delegation`]: executes the tasks that an attempt of a specialist delegates, each as a child run of one step.

use super::{ChildRuns, Executor};
use crate::tool::{DelegateEnd, DelegatedTask, Delegates};
use futures::future::BoxFuture;
use kb_attempt::{
    ChildWork, Context, Live, Outcome, ParentFacts, PreviousChild, Request, Shutdown, StepWork,
    child_run_id,
};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, JsonMap, Timestamp, Usage};
use kb_core::evidence::Record;
use kb_language::definition::{NetworkAccess, delegate_id};
use kb_language::plan::{Facts, Touched};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// The parameter of a delegated task.
const TASK: &str = "task";

/// The delegated tasks of one attempt.
pub(super) struct Delegation {
    children: Arc<dyn ChildRuns>,
    executor: Arc<dyn Executor>,
    request: Request,
    context: Context,
    /// What was reported of each call, by its id, also before a resume.
    calls: Mutex<BTreeMap<String, Usage>>,
    ended: Mutex<Vec<Record>>,
}

impl Delegation {
    pub(super) fn new(
        children: Arc<dyn ChildRuns>,
        executor: Arc<dyn Executor>,
        (request, history): (&Request, &[Record]),
        context: &Context,
    ) -> Delegation {
        let mut calls = BTreeMap::new();
        for record in history {
            if let Record::Delegate { call, .. } = record {
                calls.entry(call.clone()).or_insert(Usage::NONE);
            }
            if let Record::DelegateEnded { call, usage } = record {
                *calls.entry(call.clone()).or_insert(Usage::NONE) += *usage;
            }
        }
        let (request, context) = (request.clone(), context.clone());
        Delegation {
            children,
            executor,
            request,
            context,
            calls: Mutex::new(calls),
            ended: Mutex::default(),
        }
    }

    /// What the child run knows of the files: the specialist that delegates could write before, and can beside it.
    fn facts(&self) -> ParentFacts {
        let network = if let StepWork::Specialist(own) = &self.request.work {
            own.specialist.network
        } else {
            NetworkAccess::default()
        };
        let touched = Touched { network, ..Touched::by(self.request.instance.step.clone()) };
        let touched = Some(touched.in_run(&self.request.run));
        ParentFacts { touched, changed: Timestamp(i64::MAX), is_changing: true }
    }

    fn calls<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Usage>) -> T) -> T {
        change(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The attempt that executes the child run. Its files, limits and secrets are those of the attempt that delegates.
    fn request(&self, task: &DelegatedTask) -> Option<(Request, String)> {
        let place = self.request.idempotency_key();
        let attempt = self.request.attempt;
        let run = child_run_id(&format!("{place}/{attempt}/delegate/{}", task.call));
        let name = run.to_string();
        let reported = self.calls(|calls| calls.get(&task.call).copied().unwrap_or(Usage::NONE));
        let mut params = JsonMap::new();
        params.insert(TASK.to_owned(), Json::from(task.task.as_str()));
        let work = StepWork::Playbook(ChildWork {
            definition: delegate_id(&task.agent)?,
            params,
            // It names the child run, which may not exist yet.
            previous: Some(PreviousChild { run, attempt_ended: false, reported }),
            facts: Facts { foreign_params: [TASK.to_owned()].into(), ..Facts::default() },
            parent: Live::always(self.facts()),
        });
        Some((Request { work, cache: None, tree: None, ..self.request.clone() }, name))
    }

    async fn run(&self, task: &DelegatedTask, cancel: &CancellationToken) -> (String, Outcome) {
        let Some((request, run)) = self.request(task) else {
            let message = format!("the id of `{}` is too long to delegate to", task.agent);
            let failure = Failure::new(Code::DELEGATION_REFUSED, message);
            return (String::new(), Outcome::failed(kb_base::value::OutcomeKind::Unknown, failure));
        };
        // While this attempt works, its tasks do too: a run that is left ends its attempts before.
        let shutdown = Shutdown {
            drain: CancellationToken::new(),
            abandon: self.context.shutdown.abandon.clone(),
        };
        let context = Context { cancel: cancel.clone(), shutdown, ..self.context.clone() };
        let outcome =
            self.children.run(request.clone(), context.clone(), self.executor.clone()).await;
        let is_left = self.context.shutdown.abandon.is_cancelled();
        let Some(reason) = outcome.waits.clone().filter(|_| !is_left) else {
            return (run, outcome);
        };
        // No person can answer in the middle of a call, so the child run is cancelled.
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let context = Context { cancel: cancelled, ..context };
        let stopped = self.children.run(request, context, self.executor.clone()).await;
        let message = format!("the delegated task was stopped: {reason}");
        let failure = Failure::new(Code::DELEGATION_REFUSED, message)
            .help("start the run with `--yes`, or let a step do what needs an approval");
        let failed = Outcome::failed(kb_base::value::OutcomeKind::ToolError, failure);
        (run, Outcome { usage: stopped.usage, ..failed })
    }
}

impl Delegates for Delegation {
    fn depth(&self) -> u32 {
        self.request.callers.len() as u32
    }

    fn knows(&self, agent: &str) -> bool {
        delegate_id(agent).is_some_and(|id| self.children.knows(&id))
    }

    fn take(&self, call: &str, most: u32) -> bool {
        self.calls(|calls| {
            if !calls.contains_key(call) && calls.len() >= most as usize {
                return false;
            }
            calls.entry(call.to_owned()).or_insert(Usage::NONE);
            true
        })
    }

    fn take_ended(&self) -> Vec<Record> {
        std::mem::take(&mut self.ended.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn execute<'a>(
        &'a self,
        task: DelegatedTask,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, DelegateEnd> {
        Box::pin(async move {
            let recorder = &self.context.recorder;
            if let Some((request, _)) = self.request(&task)
                && let StepWork::Playbook(ChildWork { previous: Some(child), .. }) = request.work
            {
                let DelegatedTask { call, agent, title, depth, priority, .. } = task.clone();
                let run = child.run;
                let start = Record::Delegate { call, agent, task: title, run, depth, priority };
                // A refused record ends the attempt at its next one.
                let _ = recorder.record(start).await;
            }
            let (run, outcome) = self.run(&task, cancel).await;
            let (call, usage) = (task.call.clone(), outcome.usage);
            let end = Record::DelegateEnded { call, usage };
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(end.clone());
            let _ = recorder.record(end).await;
            self.calls(|calls| *calls.entry(task.call).or_insert(Usage::NONE) += usage);
            let output = match (outcome.output, outcome.failure) {
                (Some(mut outputs), None) => {
                    Ok(outputs.get_mut("output").map(Json::take).unwrap_or_default())
                }
                (_, Some(failure)) => Err(failure),
                (None, None) => Err(Failure::new(
                    Code::DELEGATION_REFUSED,
                    outcome.waits.unwrap_or_else(|| "the delegated task has no output".to_owned()),
                )),
            };
            DelegateEnd { run, output }
        })
    }
}
