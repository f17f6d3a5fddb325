use super::Decider;
use crate::run::effect::Effect;
use crate::run::event::{Event, RunStatus};
use crate::run::record::Payload;
use crate::value::{Failure, Json};

impl Decider<'_> {
    pub(super) fn concluded(&mut self, outputs: Result<Payload, Failure>) {
        let open = self.state.open_main + self.state.open_finally;
        if self.state.status.has_ended() || open > 0 {
            return;
        }
        let (outputs, failure) = match outputs {
            Ok(outputs) => (outputs, None),
            Err(failure) => (Payload::inline(Json::Null), Some(failure)),
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
