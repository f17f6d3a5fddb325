//! Effects that follow once their events are stored: attempts, gates, timers, cancellations.

use super::attempt::Attempt;
use super::attempts::{self, Fetched, Message};
use super::dispatcher::Dispatcher;
use super::items::{self, Listing};
use super::left_changes::left_changes;
use super::payloads::journal_failure;
use super::prepare::{self, AttemptInputs};
use super::report;
use super::setup::Update;
use super::step_locks::WantedLocks;
use super::{compute, evaluate, session, trees};
use crate::journal::JournalError;
use kb_attempt::{Outcome, Progress};
use kb_base::value::{Failure, Json, OutcomeKind};
use kb_core::evidence::{Feedback, Record};
use kb_core::run::{Effect, Input, InstanceIx, StepStatus};
use std::sync::Arc;

impl Dispatcher {
    /// Performs an effect, after the secrets that it needs were fetched.
    pub(super) fn perform(&mut self, effect: Effect) {
        let (Effect::Execute { instance, attempt, iteration, .. }
        | Effect::Verify { instance, attempt, iteration }) = effect
        else {
            return self.perform_now(effect);
        };
        let state = &self.folded.state;
        let locks = self.wanted_locks(instance);
        match self.secrets.fetch_for(&self.context, &self.folded, instance, locks) {
            None => self.perform_now(effect),
            Some(fetch) => {
                let work = Attempt { instance, iteration, attempt };
                let (channel, cancel) = self.attempts.open(&self.context, state, work);
                let secrets = self.context.parts.secrets.clone();
                tokio::spawn(fetch.run(secrets, effect, channel, cancel));
            }
        }
    }

    /// The locks between runs that an instance needs and does not have yet.
    fn wanted_locks(&self, instance: InstanceIx) -> Option<WantedLocks> {
        let planned = self.context.planned(&self.folded.state, instance);
        if !planned.has_locks() {
            return None;
        }
        let names = planned.shared_locks();
        if names.is_empty() || self.locks.has(instance) {
            return None;
        }
        let journal = self.context.parts.journal.clone();
        let locks = journal.named_locks()?;
        let names = names.iter().map(|name| format!("lock/{name}")).collect();
        let instance = self.folded.state.key(&self.context.plan, instance).to_string();
        Some(WantedLocks { locks, names, journal, run: self.context.run.clone(), instance })
    }

    fn perform_now(&mut self, effect: Effect) {
        match effect {
            Effect::Execute { instance, attempt, iteration, resumed, feedback } => {
                self.execute(Attempt { instance, iteration, attempt }, resumed, feedback);
            }
            Effect::Verify { instance, attempt, iteration } => {
                self.verify(Attempt { instance, iteration, attempt });
            }
            Effect::Merge { instance, iteration } => self.merge(instance, iteration),
            Effect::Timer { instance, due } => self.timers.set(due, instance),
            Effect::Cancel { instance } => self.attempts.cancel(instance),
            Effect::Leave => self.leaving = self.inputs.is_empty(),
            Effect::Evaluate { instance, iteration } => self.list_files(instance, iteration),
            // `evaluate` has answered these.
            Effect::EvaluateUntil { .. } | Effect::Gather { .. } | Effect::Conclude { .. } => {}
        }
    }

    /// Continues an effect after its fetch, unless the attempt is over or the run is abandoned.
    pub(super) fn after_fetch(&mut self, work: Attempt, effect: Effect, fetched: Fetched) {
        if fetched.is_ok() {
            self.secrets.note_fetched();
        }
        let cancelled = self.attempts.remove(work.instance);
        let current = self.folded.state.instance(work.instance);
        let live = current.attempt == work.attempt
            && matches!(current.status, StepStatus::Running | StepStatus::Verifying);
        if !live || self.abandoned {
            return;
        }
        let failed = match fetched {
            Ok(_) if cancelled => Some((OutcomeKind::Cancelled, Box::new(attempts::cancelled()))),
            Ok(locks) => {
                self.locks.keep(work.instance, locks);
                None
            }
            Err(failed) => Some(failed),
        };
        match failed {
            None => self.perform_now(effect),
            Some((_, failure)) if matches!(effect, Effect::Verify { .. }) => {
                self.end_gate(work, *failure);
            }
            Some((kind, failure)) => self.end_attempt(work, Outcome::failed(kind, *failure)),
        }
    }

    /// Merges the changes of a step in a worktree or copy.
    fn merge(&mut self, instance: InstanceIx, iteration: u32) {
        let scope = self.context.scope(&self.folded.state, Some(instance));
        let merged = self.context.parts.executor.merge(trees::trees(&scope, instance));
        let (messages, redactor) = (self.attempts.sender(), self.context.parts.redactor.clone());
        if let Some(events) = &self.context.events {
            let doing = redactor.mask("merging its changes".to_owned());
            let instance = scope.state.key(scope.plan, instance);
            let progress = doing.map(Progress::Tool);
            events.progress(Update::Progress { instance, progress });
        }
        self.outstanding.push(self.context.parts.clock.busy());
        tokio::spawn(async move {
            let merged = redactor.mask(merged.await);
            let _ = messages.send(Message::Merged { instance, iteration, merged });
        });
    }

    /// Lists the files that are the items of a step.
    fn list_files(&mut self, instance: InstanceIx, iteration: u32) {
        let scope = self.context.scope(&self.folded.state, Some(instance));
        let asked = match compute::evaluate(&scope, instance) {
            Ok(Listing::Files(asked)) => asked,
            Ok(Listing::Done(found)) => {
                let input = evaluate::evaluated(&self.context, instance, iteration, Ok(found));
                return self.inputs.push(input);
            }
            Err(failure) => {
                let input = evaluate::evaluated(&self.context, instance, iteration, Err(failure));
                return self.inputs.push(input);
            }
        };
        self.outstanding.push(self.context.parts.clock.busy());
        let listed = self.context.parts.executor.list(asked);
        let messages = self.attempts.sender();
        tokio::spawn(async move {
            let _ = messages.send(Message::Listed { instance, iteration, listed: listed.await });
        });
    }

    /// The files that are the items of a step were listed.
    pub(super) fn after_listing(
        &mut self,
        instance: InstanceIx,
        iteration: u32,
        listed: Result<Vec<String>, Failure>,
    ) {
        self.outstanding.pop();
        let scope = self.context.scope(&self.folded.state, Some(instance));
        let found =
            listed.map_err(Box::new).and_then(|listed| items::listed(&scope, instance, listed));
        self.inputs.push(evaluate::evaluated(&self.context, instance, iteration, found));
    }

    fn execute(&mut self, work: Attempt, resumed: bool, feedback: Option<Arc<Feedback>>) {
        if let Some(taken) = self.verified_result(work) {
            return self.take_verified(work, taken);
        }
        let history = if resumed { self.history(work.instance) } else { Ok(Vec::new()) };
        let task_files = self.context.task_files.clone();
        let trace = self.folded.traces.get(&work.instance);
        let is_fresh = trace.is_none_or(|trace| trace.invocations().is_empty());
        let session = session::brief(&self.context, &self.folded, work.instance);
        let request = history.and_then(|history| {
            let session = session?;
            let scope = self.context.scope(&self.folded.state, Some(work.instance));
            let left = left_changes(&self.folded, &scope, work.instance, is_fresh);
            let inputs = AttemptInputs {
                work,
                feedback,
                history,
                task_files,
                is_fresh,
                session,
                known: &self.folded.known,
                plan: &self.context.plan,
                left,
            };
            scope.check_reads(prepare::request(&scope, inputs))
        });
        let request = match request {
            Ok(request) => request,
            Err(failure) => {
                let outcome = Outcome::failed(OutcomeKind::ToolError, *failure);
                return self.end_attempt(work, outcome);
            }
        };
        let state = &self.folded.state;
        self.attempts.note_start(state, work.instance);
        let (channel, cancel) = self.attempts.open(&self.context, state, work);
        let is_process = request.work.is_process();
        let attempt = attempts::run(
            self.context.parts.clone(),
            channel,
            request,
            cancel,
            self.attempts.shutdown(),
        );
        if is_process {
            self.attempts.keep_process(work.instance, tokio::spawn(attempt));
        } else {
            tokio::spawn(attempt);
        }
    }

    /// The records of the attempt that a resumed attempt continues.
    fn history(&self, ix: InstanceIx) -> Result<Vec<Record>, Box<Failure>> {
        let records = self.folded.histories.get(&ix).cloned().unwrap_or_default();
        let payloads = &self.context.payloads;
        let loaded = records.into_iter().map(|record| payloads.load_record(record));
        loaded.collect::<Result<_, JournalError>>().map_err(journal_failure)
    }

    fn verify(&mut self, work: Attempt) {
        let ix = work.instance;
        let output = self.folded.state.instance(ix).output.as_ref();
        let payloads = &self.context.payloads;
        let output = output.map_or(Ok(Arc::new(Json::Null)), |output| payloads.read(output));
        let trace = self.folded.traces.get(&ix);
        let trace = trace.map_or(Vec::new(), |trace| trace.invocations().to_vec());
        let gate = output.map_err(journal_failure).and_then(|output| {
            let scope = self.context.scope(&self.folded.state, Some(ix));
            let task_files = &self.context.task_files;
            let records = self.history(ix)?;
            let (known, plan) = (&self.folded.known, &self.context.plan);
            let results = self.folded.results.get(&ix).cloned().unwrap_or_default();
            let session = session::brief(&self.context, &self.folded, ix)?;
            let killed = self.folded.killed_gates.get(&ix).copied();
            let inputs = prepare::GateInputs {
                work,
                killed,
                output,
                trace,
                records,
                results,
                session,
                task_files,
                earlier: self.folded.deciding.before(&scope, ix, task_files),
                known,
                plan,
            };
            scope.check_reads(prepare::gate(&scope, inputs))
        });
        match gate {
            Ok((mut request, snapshot)) => {
                // An attempt and its gate share one timeout.
                let spent = self.attempts.take_elapsed(ix);
                request.timeout = request.timeout.map(|limit| limit.saturating_sub(spent));
                let (channel, cancel) = self.attempts.open(&self.context, &self.folded.state, work);
                let (parts, scope) = (self.context.parts.clone(), Arc::new(snapshot));
                let shutdown = self.attempts.shutdown();
                tokio::spawn(attempts::verify(parts, channel, request, scope, cancel, shutdown));
            }
            Err(failure) => self.end_gate(work, *failure),
        }
    }

    /// Ends an attempt that could not start.
    fn end_attempt(&mut self, work: Attempt, outcome: Outcome) {
        let report = report::report(outcome, &self.context.parts.redactor);
        let Attempt { instance, iteration, attempt } = work;
        self.inputs.push(Input::AttemptEnded { instance, iteration, attempt, report });
    }

    /// Ends a gate that could not start.
    fn end_gate(&mut self, work: Attempt, failure: Failure) {
        let verification = attempts::inconclusive_gate(&failure.message);
        let verification = self.context.parts.redactor.mask(verification);
        let Attempt { instance, iteration, attempt } = work;
        self.inputs.push(Input::Judged { instance, iteration, attempt, verification });
    }
}
