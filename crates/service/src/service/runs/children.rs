//! Child runs: each `playbook` step executes a run of its own, with its own journal entry and lease, in
//! the process of its parent.
//!
//! Start at [`Children`]. Texts, models, secrets and tools are those of the parent, so that a child run
//! uses what was frozen when the first run of the tree started.

mod group;
mod opening;
mod outcome;
mod roll_up;

use super::machine::Machine;
use crate::service::params;
use futures::FutureExt;
use futures::future::BoxFuture;
use kb_attempt::{
    ChildWork, Context, Live, Outcome, ParentFacts, PreviousChild, Request, StepWork, child_run_id,
};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{
    DefinitionId, Failure, Json, JsonMap, OutcomeKind, RunId, StepId, Usage, json_text,
};
use kb_clock::RunClock;
use kb_core::evidence::{Note, Record};
use kb_core::redaction::Redactor;
use kb_core::run::RunStatus;
use kb_engine::engine::{self, Parts, RunControl, Secrets, Setup, StartMode, Summary};
use kb_engine::inspect::{Frozen, ParentRun};
use kb_engine::journal::{Journal, JournalError};
use kb_host::executor::{ChildRuns, Executor};
use kb_host::specialist::Ledger;
use kb_language::definition::{PromptRecording, Undecided};
use kb_language::plan::{Facts, Plan};
use kb_process::wait_for_orphans_of;
use opening::{Leased, Opened};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::unbounded_channel;

/// Executes the child runs of one run and of all runs below it.
#[derive(Clone)]
pub(super) struct Children {
    shared: Arc<Shared>,
}

struct Shared {
    journal: Arc<dyn Journal>,
    secrets: Arc<dyn Secrets>,
    redactor: Arc<Redactor>,
    prompts: PromptRecording,
    clock: RunClock,
    undecided: Undecided,
    plans: BTreeMap<DefinitionId, Arc<Plan>>,
    machine: Machine,
    /// The project root.
    root: PathBuf,
    ledger: Arc<Ledger>,
    /// The record of the run that started a child run last.
    parent: Mutex<Option<(RunId, Arc<Frozen>)>>,
}

/// The child run of an attempt.
struct Child {
    run: RunId,
    plan: Arc<Plan>,
    parent: ParentRun,
    /// The step of the parent.
    step: StepId,
    params: JsonMap,
    /// What is known of its parameters, and what its parent knows of its files.
    facts: Facts,
    above: Live<ParentFacts>,
    previous: Option<PreviousChild>,
    /// An earlier child run that could have been continued and was removed.
    removed: Option<RunId>,
}

impl Children {
    pub(super) fn new(
        parts: &Parts,
        plans: BTreeMap<DefinitionId, Arc<Plan>>,
        undecided: Undecided,
        (machine, root): (Machine, PathBuf),
        ledger: Arc<Ledger>,
    ) -> Children {
        let Parts { journal, secrets, redactor, prompts, clock, .. } = parts.clone();
        let parent = Mutex::default();
        let shared = Shared {
            journal,
            secrets,
            redactor,
            prompts,
            clock,
            undecided,
            plans,
            machine,
            root,
            ledger,
            parent,
        };
        Children { shared: Arc::new(shared) }
    }
}

impl ChildRuns for Children {
    fn run(
        &self,
        request: Request,
        context: Context,
        executor: Arc<dyn Executor>,
    ) -> BoxFuture<'static, Outcome> {
        let shared = self.shared.clone();
        async move {
            match shared.execute(request, context, executor).await {
                Ok(outcome) => outcome,
                Err(failure) => Outcome::failed(OutcomeKind::ToolError, *failure),
            }
        }
        .boxed()
    }

    fn knows(&self, definition: &DefinitionId) -> bool {
        self.shared.plans.contains_key(definition)
    }
}

type Executed<T> = Result<T, Box<Failure>>;

impl Shared {
    async fn execute(
        self: Arc<Self>,
        request: Request,
        context: Context,
        executor: Arc<dyn Executor>,
    ) -> Executed<Outcome> {
        let child = self.clone().child_of(&request).await?;
        let (run, definition) = (child.run.clone(), child.plan.playbook().id.clone());
        let cancelled = context.cancel.is_cancelled();
        if cancelled && child.previous.is_none() {
            let failure = Failure::new(Code::ATTEMPT_FAILED, "cancelled");
            return Ok(Outcome::failed(OutcomeKind::Cancelled, failure));
        }
        let _group = if cancelled {
            None
        } else {
            match self.enter_group(&child, &context).await? {
                Ok(group) => group,
                Err(stopped) => return Ok(stopped),
            }
        };
        if let Some(removed) = &child.removed {
            let text = format!("child run {removed} was removed, so all of its steps run again");
            if context.recorder.record(Record::Note(Note::warning(text))).await.is_err() {
                return Ok(lease_lost());
            }
        }
        // The record precedes the child run, so that a resumed parent finds the child run.
        let started = Record::ChildRun { run: run.clone(), definition };
        if context.recorder.record(started).await.is_err() {
            return Ok(lease_lost());
        }
        let reported = child.previous.as_ref().map_or(Usage::NONE, |previous| previous.reported);
        let plan = child.plan.clone();
        let (shared, above) = (self.clone(), child.above.clone());
        let opened = blocking(move || shared.open(&child, cancelled)).await?;
        let leased = match opened {
            Opened::Leased(leased) => *leased,
            Opened::Succeeded => {
                let outcome = self.outcome_of_ended(&run, &plan, reported);
                return if self.note_end(&run, &plan, RunStatus::Succeeded, &context).await? {
                    outcome
                } else {
                    Ok(lease_lost())
                };
            }
            Opened::DrivenElsewhere(pid) => {
                return Ok(Outcome::waiting(format!("child run {run} is driven by process {pid}")));
            }
        };
        let mut summary = self
            .drive(&run, (&plan, &above), leased, &context, executor.clone())
            .await
            .map_err(unusable)?;
        if summary.status == RunStatus::Waiting && context.cancel.is_cancelled() {
            // The cancellation arrived after the child run had left.
            let (shared, again, of) = (self.clone(), run.clone(), plan.clone());
            let leased = blocking(move || {
                shared.lease(&again, &of, |_| StartMode::Cancel { by: "its parent run".to_owned() })
            });
            if let Opened::Leased(leased) = leased.await? {
                let driven = self.drive(&run, (&plan, &above), *leased, &context, executor).await;
                summary = driven.map_err(unusable)?;
            }
        }
        if !self.note_end(&run, &plan, summary.status, &context).await? {
            return Ok(lease_lost());
        }
        self.outcome(&summary, &plan, &context, reported)
    }

    /// Records the end of the child run, with its verdicts and file changes. Returns false if another
    /// process owns the lease of the parent.
    async fn note_end(
        self: &Arc<Self>,
        run: &RunId,
        plan: &Arc<Plan>,
        status: RunStatus,
        context: &Context,
    ) -> Executed<bool> {
        let mut verdicts = None;
        if matches!(status, RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled) {
            let definition = plan.playbook().id.to_string();
            let (shared, of, plan) = (self.clone(), run.clone(), plan.clone());
            let found = blocking(move || shared.roll_up(&of, &plan)).await?;
            verdicts = found.verdicts.some();
            for record in found.records(run, &definition) {
                if context.recorder.record(record).await.is_err() {
                    return Ok(false);
                }
            }
        }
        let ended = Record::ChildRunEnded { run: run.clone(), status, verdicts };
        Ok(context.recorder.record(ended).await.is_ok())
    }

    /// The child run of an attempt: the one of an earlier attempt, if it can continue, or a new one.
    async fn child_of(self: Arc<Self>, request: &Request) -> Executed<Child> {
        let StepWork::Playbook(work) = &request.work else {
            let message = "the attempt has no child run";
            return Err(Box::new(Failure::new(Code::INTERNAL_ERROR, message)));
        };
        let ChildWork { definition, params, previous, facts, parent: above } = work.clone();
        let plan = self.plans.get(&definition).cloned().ok_or_else(|| {
            let message = format!("the run has no definition of `{definition}`");
            Box::new(Failure::new(Code::INTERNAL_ERROR, message))
        })?;
        let params = params::of_child(&plan.playbook().params, params)
            .map_err(|problems| invalid(&definition, problems))?;
        self.require_no_secret(&params)?;
        let parent = ParentRun { run: request.run.clone(), instance: request.instance.to_string() };
        let Request { run, instance, iteration, attempt, .. } = request;
        let fresh = child_id(run, &instance.to_string(), *iteration, *attempt);
        let step = request.instance.step.clone();
        blocking(move || {
            let removed = self.removed(previous.as_ref(), &parent, &fresh);
            let previous = previous.filter(|previous| self.continues(previous, &params));
            let run = previous.as_ref().map_or(fresh, |previous| previous.run.clone());
            Ok(Child { run, plan, parent, step, params, facts, above, previous, removed })
        })
        .await
    }

    /// Drives a child run until it ends, waits, or this process stops driving the parent.
    async fn drive(
        &self,
        run: &RunId,
        (plan, above): (&Arc<Plan>, &Live<ParentFacts>),
        leased: Leased,
        context: &Context,
        executor: Arc<dyn Executor>,
    ) -> Result<Summary, JournalError> {
        let Leased { epoch, frozen, start, history, killed_owner, verified, earlier } = leased;
        if let Some(pid) = killed_owner {
            wait_for_orphans_of(pid).await;
        }
        let parts = Parts {
            journal: self.journal.clone(),
            executor,
            secrets: self.secrets.clone(),
            redactor: self.redactor.clone(),
            prompts: self.prompts,
            clock: self.clock.clone(),
            faults: None,
            parent: Some(context.recorder.clone()),
        };
        let rules = frozen.rules(self.undecided);
        let setup = Setup {
            parts,
            run: run.clone(),
            epoch,
            plan: plan.clone(),
            params: Arc::new(Json::Object(frozen.params)),
            task_files: frozen.task_files,
            rules,
            facts: frozen.facts,
            parent: Some(above.clone()),
            start,
            history,
            verified,
            earlier,
        };
        let (control, commands) = unbounded_channel();
        let driven = engine::drive(setup, None, commands);
        tokio::pin!(driven);
        let (mut stopping, mut draining) = (false, false);
        loop {
            tokio::select! {
                biased;
                summary = &mut driven => return summary,
                () = context.cancel.cancelled(), if !stopping => {
                    stopping = true;
                    let _ = control.send(if context.shutdown.abandon.is_cancelled() {
                        RunControl::Abandon
                    } else {
                        RunControl::Cancel("its parent run".to_owned())
                    });
                }
                () = context.shutdown.drain.cancelled(), if !draining => {
                    draining = true;
                    let _ = control.send(RunControl::Drain("its parent run stops".to_owned()));
                }
            }
        }
    }

    /// Refuses parameters whose stored form would contain the value of a secret.
    fn require_no_secret(&self, params: &JsonMap) -> Executed<()> {
        for (param, value) in params {
            if let Some(name) = self.redactor.written_in(&json_text(value)) {
                let message =
                    format!("the parameter `{param}` contains the value of the secret `{name}`");
                let failure = Failure::new(Code::SECRET_LITERAL, message)
                    .help("declare it with `type: secret`, and pass `env:NAME` or `file:PATH`");
                return Err(Box::new(failure));
            }
        }
        Ok(())
    }
}

/// Runs a function that blocks, such as a write to the journal.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Executed<T> + Send + 'static,
) -> Executed<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|panic| {
        let message = format!("internal error in `kb`: {panic}");
        Err(Box::new(Failure::new(Code::INTERNAL_ERROR, message)))
    })
}

fn unusable(error: JournalError) -> Box<Failure> {
    Box::new(Failure::new(Code::JOURNAL_UNUSABLE, error.to_string()))
}

/// Another process owns the lease of the parent, so this outcome is not recorded.
fn lease_lost() -> Outcome {
    let message = "another process owns the lease of the run";
    let failure = Failure::new(Code::ATTEMPT_FAILED, message);
    Outcome::failed(OutcomeKind::Cancelled, failure)
}

/// The failure of an attempt whose computed parameters do not fit.
fn invalid(definition: &DefinitionId, problems: Vec<Diagnostic>) -> Box<Failure> {
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    let message = format!("the parameters of `{definition}` do not fit: {}", messages.join("; "));
    let failure = Failure::new(Code::CHILD_PARAMETER, message);
    let help = problems.into_iter().find_map(|problem| problem.help);
    Box::new(match help {
        Some(help) => failure.help(help),
        None => failure,
    })
}

/// The id of the child run that an attempt creates. It depends on the attempt alone.
fn child_id(run: &RunId, instance: &str, iteration: u32, attempt: u32) -> RunId {
    child_run_id(&format!("{run}/{instance}/{iteration}/{attempt}"))
}
