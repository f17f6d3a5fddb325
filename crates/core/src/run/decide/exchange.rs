//! What the steps of a run say to each other.

use super::Decider;
use crate::evidence::{Exchange, Heard};
use crate::run::bus::Bus;
use crate::run::event::{Event, InstanceIx, StepStatus};

impl Decider<'_> {
    /// Decides what a running attempt says or asks. A call that is repeated, because its result was not stored before a
    /// crash, gets the answer that belongs to its event.
    pub(super) fn exchanged(
        &mut self,
        ix: InstanceIx,
        attempt: (u32, u32),
        call: String,
        exchange: Box<Exchange>,
    ) {
        if !self.is_current(ix, attempt, StepStatus::Running) {
            return;
        }
        let empty = Bus::default();
        let bus = self.state.bus.as_deref().unwrap_or(&empty);
        if bus.known(ix, &call).is_none() {
            match bus.admit(ix, &exchange) {
                Ok(span) => {
                    let (instance, attempt, seq) = (ix, attempt.1, span.through);
                    let (call, exchange) = (call.clone(), exchange.clone());
                    self.emit(Event::Exchanged { instance, attempt, call, exchange, seq });
                }
                Err(refused) => {
                    self.decision.heard = Some(Heard::Refused(refused));
                    return;
                }
            }
        }
        let bus = self.state.bus.as_deref();
        let known = bus.and_then(|bus| Some(bus.answer(&exchange, bus.known(ix, &call)?)));
        self.decision.heard = known;
    }
}
