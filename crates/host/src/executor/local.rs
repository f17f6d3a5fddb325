//! [`LocalExecutor`]: executes attempts on this machine, one module per step kind.

use super::cached::{self, StepCache};
use super::delegation::Delegation;
use super::heard_recorder::HeardRecorder;
use super::host_access::HostAccess;
use super::lease::lease_lost;
use super::stubs::{self, Stubs};
use super::{ChildRuns, Executor, GateRequest, Judges};
use super::{gate, http, items, left_changes, run, specialist, tool};
use crate::isolation::{Tree, Trees, gone};
use crate::specialist::SpecialistRunner;
use crate::tool::Toolbox;
use crate::workspace::{StateBefore, StatesBefore};
use futures::FutureExt;
use futures::future::BoxFuture;
use kb_attempt::{Context, FileItems, Outcome, Request, StepWork, TreeRequest};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, InstanceKey, OutcomeKind, PlacedStep, RunId, Timestamp};
use kb_core::evidence::{Merged, Record, Verification};
use kb_language::expression::Scope;
use std::sync::Arc;

/// Executes attempts with the tools and models of this machine.
#[derive(Clone)]
pub struct LocalExecutor {
    host: HostAccess,
    toolbox: Arc<Toolbox>,
    specialists: Option<Arc<SpecialistRunner>>,
    children: Option<Arc<dyn ChildRuns>>,
    stubs: Option<Arc<Stubs>>,
    trees: Option<Trees>,
    states: Option<StatesBefore>,
    cache: Option<Arc<StepCache>>,
    /// Whether the file changes of all steps are recorded, because the gate of a `playbook` step above
    /// them reads them.
    watches: bool,
    /// The attempts above that started the run, outermost first.
    callers: Arc<[PlacedStep]>,
}

impl LocalExecutor {
    /// An executor with these tools. Without a runner, specialist steps fail with `KB0701`.
    pub fn new(
        host: HostAccess,
        toolbox: Arc<Toolbox>,
        specialists: Option<Arc<SpecialistRunner>>,
    ) -> Self {
        LocalExecutor {
            host,
            toolbox,
            specialists,
            children: None,
            stubs: None,
            trees: None,
            states: None,
            cache: None,
            watches: false,
            callers: Arc::default(),
        }
    }

    /// The same executor with child runs. Without them, `playbook` steps fail.
    #[must_use]
    pub fn with_children(self, children: Arc<dyn ChildRuns>) -> Self {
        LocalExecutor { children: Some(children), ..self }
    }

    /// The same executor with these results in place of the execution of steps.
    #[must_use]
    pub fn with_stubs(self, stubs: Arc<Stubs>) -> Self {
        LocalExecutor { stubs: Some(stubs), ..self }
    }

    /// The same executor with worktrees and copies. Without them, steps with files of their own fail.
    #[must_use]
    pub fn with_trees(self, trees: Trees) -> Self {
        LocalExecutor { trees: Some(trees), ..self }
    }

    /// The same executor, which stores the state of the files before the work of steps. Without it, what a
    /// killed attempt left counts as there before.
    #[must_use]
    pub fn with_states_before(self, states: StatesBefore) -> Self {
        LocalExecutor { states: Some(states), ..self }
    }

    /// The same executor for the files of a tree.
    fn within(self, tree: &Tree) -> LocalExecutor {
        let toolbox = Arc::new(self.toolbox.within(&tree.workspace));
        let specialists = self.specialists.map(|runner| {
            Arc::new(SpecialistRunner {
                toolbox: toolbox.clone(),
                ..SpecialistRunner::clone(&runner)
            })
        });
        let host = self.host.within(&tree.workspace);
        let trees = self.trees.map(|trees| trees.within(tree));
        LocalExecutor { host, toolbox, specialists, trees, ..self }
    }

    /// The same executor with stored results. Without them, steps with `cache` do their work.
    #[must_use]
    pub fn with_cache(self, cache: Arc<StepCache>) -> Self {
        LocalExecutor { cache: Some(cache), ..self }
    }

    /// Executes an attempt in the files that it asks for.
    async fn placed(self, request: Request, context: Context) -> Outcome {
        let (evidence, callers) = (request.evidence || self.watches, self.callers.clone());
        let request = Request { evidence, callers, ..request };
        if let Some(stubs) = &self.stubs
            && let Some(stub) = stubs.result_of(&request)
        {
            return stubs::play(stub, &self.host.clock, &request, &context).await;
        }
        let tree = match (&request.tree, &self.trees) {
            (None, _) => None,
            (Some(_), None) => return Outcome::failed(OutcomeKind::ToolError, no_trees()),
            (Some(asked), Some(trees)) => match trees.open(asked).await {
                Ok(tree) => Some(tree),
                Err(failure) => return Outcome::failed(OutcomeKind::ToolError, *failure),
            },
        };
        match tree {
            Some(tree) => self.within(&tree).attempt(request, context).await,
            None => self.attempt(request, context).await,
        }
    }

    /// Executes an attempt, or takes its stored result.
    async fn attempt(self, request: Request, context: Context) -> Outcome {
        // A child run is no work of its own: its steps are.
        let cache = self.cache.clone().filter(|_| !matches!(request.work, StepWork::Playbook(_)));
        let Some(cache) = cache else { return self.work(request, context).await };
        let host = self.host.clone();
        let work = |request, context| self.work(request, context);
        cached::execute(&cache, &host, request, context, work).await
    }

    /// Does the work of an attempt. What the files were before it is stored until its changes are recorded.
    async fn work(self, request: Request, context: Context) -> Outcome {
        let executor = self.with_state_before(&request);
        let Some(before) = executor.host.workspace.state_before().cloned() else {
            return executor.done(request, context).await;
        };
        let recorder = Arc::new(HeardRecorder::of(context.recorder.clone()));
        let context = Context { recorder: recorder.clone(), ..context };
        let outcome = executor.done(request, context).await;
        if recorder.stored_all() {
            before.forget();
        }
        outcome
    }

    /// The same executor for an attempt whose work may change files, which are compared.
    fn with_state_before(self, request: &Request) -> LocalExecutor {
        let Some(states) = &self.states else { return self };
        let before = states.of_step(&request.run, &request.instance, &self.host.redactor);
        let workspace = self.host.workspace.with_state_before(before);
        match &request.work {
            StepWork::Run { .. } if request.evidence || request.confined.now().is_some() => {
                let host = self.host.within(&workspace);
                LocalExecutor { host, ..self }
            }
            StepWork::Tool { tool, .. } if tool.writes => self.within(&Tree { workspace }),
            StepWork::Specialist(_) => self.within(&Tree { workspace }),
            StepWork::Run { .. }
            | StepWork::Tool { .. }
            | StepWork::Http(_)
            | StepWork::Playbook(_) => self,
        }
    }

    /// Where the states are stored in which killed processes found the files of an attempt, with their last
    /// signs of life. An earlier run had another worktree or copy.
    fn killed(&self, request: &Request) -> Vec<(StateBefore, Timestamp)> {
        let left = request.left.iter().flat_map(|left| &left.killed);
        let same = left.filter(|work| request.tree.is_none() || work.run == request.run);
        let stored = same.filter_map(|work| {
            let states = self.states.as_ref()?;
            let before = states.of_step(&work.run, &request.instance, &self.host.redactor);
            Some((before, work.at))
        });
        stored.collect()
    }

    /// The runner of specialists, whose attempt can delegate tasks if the run has child runs.
    fn delegating(
        &self,
        request: &Request,
        history: &[Record],
        context: &Context,
    ) -> Option<Arc<SpecialistRunner>> {
        let runner = self.specialists.clone()?;
        let Some(children) = self.children.clone() else { return Some(runner) };
        let callers = request.place().below().into();
        let below = LocalExecutor { watches: request.evidence, callers, ..self.clone() };
        let delegation = Delegation::new(children, Arc::new(below), (request, history), context);
        let toolbox = Toolbox::clone(&self.toolbox).with_delegates(Arc::new(delegation));
        Some(Arc::new(SpecialistRunner {
            toolbox: Arc::new(toolbox),
            ..SpecialistRunner::clone(&runner)
        }))
    }

    async fn done(self, request: Request, context: Context) -> Outcome {
        let toolbox = &*self.toolbox;
        let killed = self.killed(&request);
        match left_changes::record(&self.host, &request, killed, &context).await {
            Ok(None) => {}
            Ok(Some(failure)) => return Outcome::failed(OutcomeKind::PolicyDenied, failure),
            Err(_) => return lease_lost(),
        }
        if gate::recheck_relied_files(&self.host, &request, &context).await.is_err()
            || gate::run_before(&self.host, &request, &context).await.is_err()
        {
            return lease_lost();
        }
        match &request.work {
            StepWork::Run { command, parse } => {
                run::run(&self.host, &request, command, *parse, &context).await
            }
            StepWork::Tool { tool, args } => {
                tool::call(&self.host, toolbox, &request, tool, args, &context).await
            }
            StepWork::Http(work) => http::send(&self.host, toolbox, &request, work, &context).await,
            StepWork::Playbook(_) => match self.children.clone() {
                Some(children) => {
                    let callers = request.place().below().into();
                    let below = LocalExecutor { watches: request.evidence, callers, ..self };
                    children.run(request, context, Arc::new(below)).await
                }
                None => {
                    let message = "this executor has no child runs";
                    let failure = Failure::new(Code::INTERNAL_ERROR, message);
                    Outcome::failed(OutcomeKind::ToolError, failure)
                }
            },
            StepWork::Specialist(work) => {
                let runner = self.delegating(&request, &work.history, &context);
                let workspace = &self.host.workspace;
                let runner = runner.as_deref();
                specialist::run(runner, workspace, &request, work.clone(), &context).await
            }
        }
    }
}

impl Executor for LocalExecutor {
    fn execute(&self, request: Request, context: Context) -> BoxFuture<'static, Outcome> {
        self.clone().placed(request, context).boxed()
    }

    fn list(&self, asked: FileItems) -> BoxFuture<'static, Result<Vec<String>, Failure>> {
        items::list(self.host.workspace.clone(), asked).boxed()
    }

    fn merge(&self, asked: Vec<TreeRequest>) -> BoxFuture<'static, Merged> {
        let (trees, has_stubs) = (self.trees.clone(), self.stubs.is_some());
        async move {
            let (trees, failure) = match trees {
                // A result that a test gave has no files.
                Some(trees) => trees.merge(asked, has_stubs).await,
                None => (Vec::new(), Some(no_trees())),
            };
            Merged { trees, failure }
        }
        .boxed()
    }

    fn ended(&self, run: &RunId, instance: &InstanceKey, succeeded: bool) {
        if let Some(cache) = &self.cache {
            cache.ended(run, instance, succeeded);
        }
    }

    fn verify(
        &self,
        request: GateRequest,
        scope: Arc<dyn Scope + Send + Sync>,
        context: Context,
    ) -> BoxFuture<'static, Verification> {
        let executor = self.clone();
        async move {
            let tree = match (&request.tree, &executor.trees) {
                (Some(asked), Some(trees)) => match trees.find(asked).await {
                    Ok(None) if executor.stubs.is_none() => return gate::refused(&gone(asked)),
                    Ok(found) => found,
                    Err(failure) => return gate::refused(&failure),
                },
                (Some(_), None) | (None, _) => None,
            };
            let executor = match &tree {
                Some(tree) => executor.within(tree),
                None => executor,
            };
            let LocalExecutor { host, specialists: runner, states, callers, .. } = executor;
            let callers = &*callers;
            let of = request.of.as_deref();
            let before = states
                .zip(of)
                .map(|(states, of)| states.of_gate(&of.run, &of.instance, &host.redactor));
            let killed = before.as_ref().filter(|_| of.is_some_and(|of| of.killed.is_some()));
            let left = match killed {
                Some(before) => left_changes::protected(&host, before),
                None => None,
            };
            if let Some(failure) = left {
                return gate::refused(&failure);
            }
            let host = match &before {
                Some(before) => host.within(&host.workspace.with_state_before(before.clone())),
                None => host,
            };
            let Context { cancel, recorder, .. } = &context;
            let judges = runner.as_deref().map(|runner| Judges {
                runner,
                recorder: recorder.as_ref(),
                callers,
            });
            let run = (cancel, Some(recorder.as_ref()));
            let verification = gate::run_gate(request, &*scope, &host, run, judges).await;
            if let Some(before) = before {
                before.forget();
            }
            verification
        }
        .boxed()
    }
}

fn no_trees() -> Failure {
    Failure::new(Code::INTERNAL_ERROR, "this executor has no worktrees")
}
