//! Translates the ends of step instances, those that an earlier run executed included.

use super::Body;
use super::event::InstanceRef;
use super::parts::{ErrorView, KeptView, inline_or_blob};
use super::translator::{Translator, elapsed};
use crate::evidence::{Payload, Verdict};
use crate::plan::PlanStep;
use crate::run::{InstanceIx, KeptResult, StepStatus};
use crate::value::{Failure, Timestamp, Usage};

impl Translator {
    pub(super) fn ended(
        &mut self,
        at: Timestamp,
        ix: InstanceIx,
        (status, tolerated): (StepStatus, bool),
        output: &Option<Payload>,
        failure: &Option<Failure>,
    ) -> Vec<(Option<InstanceRef>, Body)> {
        let Some(active) = self.instances.end(ix, status) else { return Vec::new() };
        let is_finally = self.instances.step(ix).is_some_and(PlanStep::is_finally);
        let succeeded = status == StepStatus::Succeeded;
        if succeeded && active.verdict.is_some_and(|verdict| verdict != Verdict::Passed) {
            self.unproven.insert(ix);
        }
        let (output, output_blob) = inline_or_blob(output.as_ref().or(active.output.as_ref()));
        let failure = failure.as_ref().or(active.failure.as_ref()).filter(|_| !succeeded);
        let body = Body::StepEnd {
            status,
            tolerated,
            output,
            output_blob,
            error: failure.map(ErrorView::from),
            verdict: active.verdict,
            stdout_cut: active.stdout_cut,
            kept_from: None,
            is_finally,
            usage: active.usage.into(),
            duration_ms: elapsed(active.began, at),
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
        let (output, output_blob) = inline_or_blob(kept.output.as_ref());
        let body = Body::StepEnd {
            status: kept.status,
            tolerated: kept.status == StepStatus::Failed,
            output,
            output_blob,
            error: kept.failure.as_ref().map(ErrorView::from),
            verdict,
            stdout_cut: None,
            kept_from: Some(Box::new(KeptView::from(kept))),
            is_finally: false,
            usage: Usage::NONE.into(),
            duration_ms: 0,
        };
        self.here(ix, body)
    }
}
