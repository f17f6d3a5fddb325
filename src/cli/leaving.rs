//! A command that replies to a question leaves the run when it only waits for persons again.
//!
//! A question with a timeout keeps the process that drives the run. The command would become that process for as long as
//! the timeout is, although the person who replied expects it to return.

use kb_service::service::RunControl;
use tokio::sync::mpsc::UnboundedSender;

/// Redraws for which the run has to wait: between two events of one change, nothing runs either.
const TICKS: u32 = 2;

/// Leaves a run that only waits for persons.
pub(super) struct Leaving {
    orders: UnboundedSender<RunControl>,
    waited: u32,
}

impl Leaving {
    pub(super) fn new(orders: UnboundedSender<RunControl>) -> Leaving {
        Leaving { orders, waited: 0 }
    }

    /// Notes at a redraw whether the run only waits for persons, and leaves it after the second one.
    pub(super) fn tick(&mut self, only_waits: bool) {
        if self.has_left() {
            return;
        }
        self.waited = if only_waits { self.waited + 1 } else { 0 };
        if self.has_left() {
            // If the receiver is closed, the run has ended.
            let _ = self.orders.send(RunControl::Drain("it waits for a person".to_owned()));
        }
    }

    /// Whether the run was left.
    pub(super) fn has_left(&self) -> bool {
        self.waited >= TICKS
    }
}
