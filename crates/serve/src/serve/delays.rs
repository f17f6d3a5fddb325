//! [`Delays`]: when runs that could not start or continue for a reason that passes are tried again.

use kb_base::value::{RunId, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// The first delay of a run; each further one is twice as long.
const FIRST: Duration = Duration::from_secs(5);
/// The longest delay.
const LONGEST: Duration = Duration::from_secs(300);

/// The delayed runs of a project. A daemon that starts later tries them at once.
#[derive(Debug, Default)]
pub(super) struct Delays(BTreeMap<RunId, Delay>);

#[derive(Debug, Default)]
struct Delay {
    count: u32,
    due: Timestamp,
}

impl Delays {
    /// Delays a run once more. Returns when it is tried again.
    pub(super) fn delay(&mut self, run: &RunId, now: Timestamp) -> Timestamp {
        let delay = self.0.entry(run.clone()).or_default();
        delay.due = now.after(FIRST.saturating_mul(1 << delay.count.min(6)).min(LONGEST));
        delay.count += 1;
        delay.due
    }

    /// Whether a run is not tried yet. A clock that was set back does not keep it longer than the longest delay.
    pub(super) fn holds(&self, run: &RunId, now: Timestamp) -> bool {
        self.0.get(run).is_some_and(|delay| now < delay.due && delay.due.since(now) <= LONGEST)
    }

    /// Forgets a run that has ended.
    pub(super) fn forget(&mut self, run: &RunId) {
        self.0.remove(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_end() {
        let (mut delays, run) = (Delays::default(), RunId::new("r1").unwrap());
        let now = Timestamp(1_000_000_000);
        assert!(!delays.holds(&run, now));
        let lengths: Vec<u64> =
            (0..9).map(|_| delays.delay(&run, now).since(now).as_secs()).collect();
        assert_eq!(lengths, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert!(delays.holds(&run, now) && !delays.holds(&run, now.after(LONGEST)));
        assert!(!delays.holds(&run, Timestamp(now.0 - 1)), "the clock was set back");
        delays.forget(&run);
        assert!(!delays.holds(&run, now));
    }
}
