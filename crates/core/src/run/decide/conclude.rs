//! The end of a run.

use super::Decider;
use crate::evidence::Payload;
use crate::run::effect::Effect;
use crate::run::event::{Event, StepStatus};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, RunStatus, format_duration};
use kb_language::definition::StepPhase;
use std::time::Duration;

impl Decider<'_> {
    pub(super) fn concluded(&mut self, iteration: u32, outputs: Result<Payload, Failure>) {
        let open = self.state.open_main + self.state.open_finally;
        if self.state.status.has_ended() || open > 0 || iteration != self.state.iteration {
            return;
        }
        let expired = self.state.expired.map(out_of_time).or_else(|| self.left_out());
        let (outputs, failure) = match outputs {
            Ok(outputs) => (outputs, expired),
            Err(failure) => (Payload::inline(Json::Null), expired.or(Some(failure))),
        };
        let status = if self.state.is_cancelled() {
            RunStatus::Cancelled
        } else if self.state.has_failed() || failure.is_some() {
            RunStatus::Failed
        } else {
            RunStatus::Succeeded
        };
        self.emit(Event::RunEnded { status, outputs, failure });
        self.effect(Effect::Leave);
    }
}

impl Decider<'_> {
    /// After a retry of one step alone, steps that it had blocked have not run.
    fn left_out(&self) -> Option<Failure> {
        if self.state.has_failed() || self.state.is_cancelled() {
            return None;
        }
        let steps = self.state.instances().take(self.plan.steps().len());
        let left_out: Vec<String> = steps
            .filter(|(ix, _)| self.step(*ix).phase == StepPhase::Main)
            .filter(|(_, i)| matches!(i.status, StepStatus::Blocked | StepStatus::Cancelled))
            .map(|(ix, _)| format!("`{}`", self.step(ix).id))
            .collect();
        let (first, more) = (left_out.first()?, left_out.len() - 1);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!("{first}{more} has not run");
        Some(
            Failure::new(Code::NOT_ALL_RAN, message)
                .help("`kb run retry` runs the steps that have not run"),
        )
    }
}

/// The failure of a run that exceeded its timeout.
fn out_of_time(limit_ms: u64) -> Failure {
    let limit = format_duration(Duration::from_millis(limit_ms));
    Failure::new(Code::RUN_TIMED_OUT, format!("the run took longer than {limit}"))
        .help("raise `limits.timeout`, or continue with `kb run retry`")
}
