//! Effects that only compute: they change nothing outside, so they need not wait for the journal.

use super::attempts;
use super::dispatcher::Dispatcher;
use super::scope::RunScope;
use super::{compute, prepare};
use crate::attempt::Outcome;
use crate::definition::StepKind;
use crate::evidence::Payload;
use crate::run::{AttemptReport, Effect, Evaluation, Input, InstanceIx};
use crate::value::{Failure, Json, OutcomeKind};
use std::cell::Cell;

impl Dispatcher {
    /// Carries out what only computes. False where something outside is to be done.
    pub(super) fn evaluate(&mut self, effect: &Effect) -> bool {
        let input = match effect {
            Effect::Evaluate { instance, iteration } => {
                let found = compute::evaluate(&self.scope(Some(*instance)), *instance);
                let found = found.map(|f| self.store_found(f)).map_err(|e| self.masked(*e));
                Input::Evaluated { instance: *instance, iteration: *iteration, found }
            }
            Effect::Gather { instance, iteration } => {
                let gathered = compute::gather(&self.scope(None), *instance, &self.parts.redactor);
                let output = gathered.map_err(|e| self.masked(*e));
                Input::Gathered { instance: *instance, iteration: *iteration, output }
            }
            Effect::Conclude { iteration } => {
                let outputs = compute::conclude(&self.scope(None));
                let masked = outputs.map(|o| self.parts.redactor.masked(o));
                let outputs = masked.map(|o| self.store_payload(o)).map_err(|e| self.masked(*e));
                Input::Concluded { iteration: *iteration, outputs }
            }
            Effect::Execute { instance, attempt, iteration, .. } => {
                if let Some(input) = self.open_wait(*instance, *iteration, *attempt) {
                    self.tell(input);
                    return true;
                }
                match self.set_values(*instance) {
                    Some(report) => {
                        let (instance, iteration, attempt) = (*instance, *iteration, *attempt);
                        Input::AttemptEnded { instance, iteration, attempt, report }
                    }
                    None => return false,
                }
            }
            _ => return false,
        };
        self.tell(input);
        true
    }

    /// The report of a `set` step, which is nothing but evaluation.
    fn set_values(&self, ix: InstanceIx) -> Option<AttemptReport> {
        let step = &self.setup.plan.step(self.folded.state.instance(ix).step).step;
        let StepKind::Set(values) = &step.kind else { return None };
        let scope = self.scope(Some(ix));
        let outcome = match compute::set(&scope, values) {
            Ok(value) => prepare::fits(step, Outcome::ok(value), &self.parts.redactor),
            Err(failure) => Outcome::failed(OutcomeKind::ToolError, *failure),
        };
        let report = attempts::report(outcome, &self.parts.redactor);
        // Where a blob cannot be written, nothing that was decided is stored.
        Some(self.payloads.store_report(report.clone()).unwrap_or(report))
    }

    pub(super) fn store_payload(&self, value: Json) -> Payload {
        let payload = Payload::inline(value);
        // Where a blob cannot be written, nothing that was decided is stored.
        self.payloads.store(payload.clone()).unwrap_or(payload)
    }

    fn store_found(&self, found: Evaluation) -> Evaluation {
        match found {
            Evaluation::Items { keys, items: Payload::Inline(list), keyed } => {
                let mask = |key: String| self.parts.redactor.mask_text(&key).into_owned();
                let keys = keys.into_iter().map(mask).collect();
                let masked = self.parts.redactor.mask_json(&list);
                Evaluation::Items { keys, items: self.store_payload(masked), keyed }
            }
            other => other,
        }
    }

    pub(super) fn scope(&self, instance: Option<InstanceIx>) -> RunScope<'_> {
        RunScope {
            plan: &self.setup.plan,
            state: &self.folded.state,
            run: &self.setup.run,
            params: &self.setup.params,
            instance,
            payloads: &self.payloads,
            secrets: &*self.parts.secrets,
            item: None,
            depth: Cell::default(),
            lost: Cell::default(),
        }
    }

    pub(super) fn masked(&self, failure: Failure) -> Failure {
        attempts::masked_failure(failure, &self.parts.redactor)
    }
}
