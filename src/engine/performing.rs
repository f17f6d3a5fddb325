//! Effects that wait for their events to be stored: attempts, gates, timers, cancellations, leaving.

use super::attempts::{self, AttemptChannel};
use super::dispatcher::Dispatcher;
use super::prepare::{self, AttemptInputs};
use super::prompts::PromptLog;
use crate::attempt::{Outcome, StepWork};
use crate::clock;
use crate::evidence::Feedback;
use crate::journal::JournalError;
use crate::run::{Effect, Input, InstanceIx};
use crate::task;
use crate::value::{Failure, Json, OutcomeKind};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

impl Dispatcher {
    pub(super) fn perform(&mut self, effect: Effect) {
        if let Some(effect) = self.with_secrets(effect) {
            self.act(effect);
        }
    }

    /// Does it now; the secrets that it needs are at hand.
    pub(super) fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Execute { instance, attempt, iteration, resumed, feedback } => {
                self.execute(instance, attempt, iteration, resumed, feedback);
            }
            Effect::Verify { instance, attempt, iteration } => {
                self.verify(instance, attempt, iteration)
            }
            Effect::Timer { instance, due } => drop(self.timers.insert((due, instance))),
            Effect::Cancel { instance } => {
                if let Some(cancel) = self.cancels.get(&instance) {
                    cancel.cancel();
                }
            }
            Effect::Leave => self.leaving = self.inputs.is_empty(),
            Effect::Evaluate { .. } | Effect::Gather { .. } | Effect::Conclude { .. } => {}
        }
    }

    fn execute(
        &mut self,
        ix: InstanceIx,
        attempt: u32,
        iteration: u32,
        resumed: bool,
        feedback: Option<Arc<Feedback>>,
    ) {
        let history = if resumed { self.history(ix) } else { Ok(Vec::new()) };
        let task_files = self.task_files.clone();
        let request = history.and_then(|history| {
            let brought = AttemptInputs { attempt, iteration, feedback, history, task_files };
            let scope = self.scope(Some(ix));
            scope.whole(prepare::request(&scope, ix, brought))
        });
        match request {
            Ok(request) => {
                let state = &self.folded.state;
                // Those that no gate looks at stay behind otherwise.
                self.began.retain(|ix, _| state.instance(*ix).holds_slot());
                self.began.insert(ix, clock::instant());
                let (line, cancel) = self.open_channel(ix, attempt, iteration);
                let is_process = matches!(request.work, StepWork::Run { .. });
                let attempt = attempts::run(self.parts.clone(), line, request, cancel);
                if is_process {
                    self.processes.insert(ix, task::spawn(attempt));
                } else {
                    tokio::spawn(attempt);
                }
            }
            Err(failure) => {
                let outcome = Outcome::failed(OutcomeKind::ToolError, *failure);
                self.not_begun(ix, iteration, attempt, outcome);
            }
        }
    }

    /// Ends an attempt before it did anything.
    pub(super) fn not_begun(
        &mut self,
        instance: InstanceIx,
        iteration: u32,
        attempt: u32,
        outcome: Outcome,
    ) {
        let report = attempts::report(outcome, &self.parts.redactor);
        self.tell(Input::AttemptEnded { instance, iteration, attempt, report });
    }

    fn history(&self, ix: InstanceIx) -> Result<Vec<crate::evidence::Record>, Box<Failure>> {
        let records = self.folded.histories.get(&ix).cloned().unwrap_or_default();
        let loaded = records.into_iter().map(|record| self.payloads.load_record(record));
        loaded.collect::<Result<_, JournalError>>().map_err(prepare::unreadable)
    }

    fn verify(&mut self, ix: InstanceIx, attempt: u32, iteration: u32) {
        let output = self.folded.state.instance(ix).output.as_ref();
        let output = output.map_or(Ok(Arc::new(Json::Null)), |kept| self.payloads.read(kept));
        let trace = self.folded.traces.get(&ix).cloned().unwrap_or_default();
        let gate = output.map_err(prepare::unreadable).and_then(|output| {
            let scope = self.scope(Some(ix));
            scope.whole(prepare::gate(&scope, ix, output, trace))
        });
        match gate {
            Ok((mut request, snapshot)) => {
                // Running and verifying share one bound.
                let spent = self.began.remove(&ix).map_or(Duration::ZERO, |began| began.elapsed());
                request.timeout = request.timeout.map(|limit| limit.saturating_sub(spent));
                let (line, cancel) = self.open_channel(ix, attempt, iteration);
                let scope = Arc::new(snapshot);
                tokio::spawn(attempts::verify(self.parts.clone(), line, request, scope, cancel));
            }
            Err(failure) => self.not_looked(ix, iteration, attempt, *failure),
        }
    }

    /// Ends a gate that could not look.
    pub(super) fn not_looked(
        &mut self,
        instance: InstanceIx,
        iteration: u32,
        attempt: u32,
        failure: Failure,
    ) {
        let verification = attempts::broken_gate(&self.masked(failure).message);
        self.tell(Input::Judged { instance, iteration, attempt, verification });
    }

    pub(super) fn open_channel(
        &mut self,
        ix: InstanceIx,
        attempt: u32,
        iteration: u32,
    ) -> (Arc<AttemptChannel>, CancellationToken) {
        let cancel = CancellationToken::new();
        self.cancels.insert(ix, cancel.clone());
        let line = AttemptChannel {
            instance: ix,
            iteration,
            attempt,
            key: self.folded.state.key(&self.setup.plan, ix),
            step: self.setup.plan.step(self.folded.state.instance(ix).step).step.clone(),
            messages: self.line.clone(),
            updates: self.setup.updates.clone(),
            payloads: self.payloads.clone(),
            redactor: self.parts.redactor.clone(),
            tokens: Mutex::new(self.parts.redactor.stream()),
            heard: Mutex::new(tokio::time::Instant::now()),
            prompts: PromptLog::new(self.parts.prompts),
        };
        (Arc::new(line), cancel)
    }
}
