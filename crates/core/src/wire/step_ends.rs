//! Translates the ends of attempts and of step instances, those that an earlier run executed included.

use super::Body;
use super::event::InstanceRef;
use super::parts::{ErrorView, KeptView, inline_or_blob};
use super::translator::{Translator, elapsed};
use crate::evidence::{AttemptStreams, Payload, Verdict};
use crate::run::{self, InstanceIx, KeptResult, StepStatus};
use kb_base::value::{Failure, OutcomeKind, Timestamp, Usage};
use kb_language::plan::PlanStep;

impl Translator {
    pub(super) fn attempt_ended(
        &mut self,
        at: Timestamp,
        ix: InstanceIx,
        ended: &run::Event,
    ) -> Vec<(Option<InstanceRef>, Body)> {
        let run::Event::AttemptEnded { outcome, output, failure, usage, streams, .. } = ended
        else {
            return Vec::new();
        };
        let streams = streams.as_ref().and_then(Payload::as_inline);
        let streams = streams.map(|streams| AttemptStreams::of(streams)).unwrap_or_default();
        self.usage += *usage;
        self.instances.spend(ix, *usage);
        let Some(active) = self.instances.active(ix) else { return Vec::new() };
        let work = active.work();
        work.output = output.clone().map(Box::new);
        work.failure = failure.clone().map(Box::new);
        work.outcome = Some(*outcome);
        work.verdict = None;
        work.stdout_cut = Some(streams.stdout_cut).filter(|cut| *cut > 0).or(work.stdout_cut);
        let duration_ms = elapsed(active.attempt_began, at);
        let body = Body::AttemptEnd {
            outcome: *outcome,
            error: self.error_of(ix, Some(*outcome), failure.as_ref()),
            usage: (*usage).into(),
            duration_ms,
            process: streams.process,
        };
        self.here(ix, body)
    }

    /// The public form of a failure of an instance, with suggestions.
    fn error_of(
        &self,
        ix: InstanceIx,
        outcome: Option<OutcomeKind>,
        failure: Option<&Failure>,
    ) -> Option<ErrorView> {
        let step = &self.instances.step(ix)?.step;
        failure.map(|failure| ErrorView::of_step(step, outcome, failure))
    }

    pub(super) fn ended(
        &mut self,
        at: Timestamp,
        ix: InstanceIx,
        (status, tolerated): (StepStatus, bool),
        output: &Option<Payload>,
        failure: &Option<Failure>,
    ) -> Vec<(Option<InstanceRef>, Body)> {
        let Some(active) = self.instances.end(ix, status) else { return Vec::new() };
        let (began, work) = (active.began, active.into_work());
        let is_finally = self.instances.step(ix).is_some_and(PlanStep::is_finally);
        let succeeded = status == StepStatus::Succeeded;
        if succeeded && work.verdict.is_some_and(|verdict| verdict != Verdict::Passed) {
            self.unproven.insert(ix);
        }
        let (output, output_blob) = inline_or_blob(output.as_ref().or(work.output.as_deref()));
        let failure = failure.as_ref().or(work.failure.as_deref()).filter(|_| !succeeded);
        let body = Body::StepEnd {
            status,
            tolerated,
            output,
            output_blob,
            error: self.error_of(ix, work.outcome, failure),
            verdict: work.verdict,
            stdout_cut: work.stdout_cut,
            escalations: work.escalations,
            kept_from: None,
            reason: self.instances.not_run(ix).map(String::into_boxed_str),
            is_finally,
            usage: work.usage.into(),
            duration_ms: elapsed(began, at),
        };
        self.here(ix, body)
    }

    pub(super) fn kept(
        &mut self,
        ix: InstanceIx,
        kept: &KeptResult,
    ) -> Vec<(Option<InstanceRef>, Body)> {
        if let Some(progress) = self.instances.get_mut(ix) {
            progress.attempt = kept.attempts;
        }
        if self.instances.end(ix, kept.status).is_none() {
            return Vec::new();
        }
        let verdict = kept.verification.as_ref().map(|gate| gate.verdict);
        if verdict.is_some_and(|verdict| verdict != Verdict::Passed) {
            self.unproven.insert(ix);
        }
        if kept.child_verdicts.unproven > 0 {
            self.unproven_below.insert(ix, kept.child_verdicts.unproven);
        }
        let (output, output_blob) = inline_or_blob(kept.output.as_ref());
        let body = Body::StepEnd {
            status: kept.status,
            tolerated: kept.status == StepStatus::Failed,
            output,
            output_blob,
            error: self.error_of(ix, None, kept.failure.as_ref()),
            verdict,
            stdout_cut: None,
            escalations: 0,
            kept_from: Some(Box::new(KeptView::from(kept))),
            reason: None,
            is_finally: false,
            usage: Usage::NONE.into(),
            duration_ms: 0,
        };
        self.here(ix, body)
    }
}
