//! Whether other attempts that can change files executed at the same time. The files that changed meanwhile may be theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the attempts of a run.
#[derive(Debug, Default)]
pub(super) struct Overlap(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    running: AtomicU64,
    started: AtomicU64,
}

/// One attempt, from its start to its end.
pub(super) struct Execution {
    counts: Arc<Counts>,
    began_alone: bool,
    number: u64,
}

impl Overlap {
    /// An attempt starts.
    pub(super) fn begin(&self) -> Execution {
        let began_alone = self.0.running.fetch_add(1, Ordering::SeqCst) == 0;
        let number = self.0.started.fetch_add(1, Ordering::SeqCst);
        Execution { counts: self.0.clone(), began_alone, number }
    }
}

impl Execution {
    /// Whether no other attempt of the run has executed since this one started.
    pub(super) fn was_alone(&self) -> bool {
        self.began_alone && self.counts.started.load(Ordering::SeqCst) == self.number + 1
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::Overlap;

    #[test]
    fn an_attempt_is_alone_only_without_others_before_and_after_its_start() {
        let overlap = Overlap::default();
        let first = overlap.begin();
        assert!(first.was_alone());
        let second = overlap.begin();
        assert!(!first.was_alone() && !second.was_alone());
        drop(first);
        assert!(!second.was_alone());
        drop(second);
        assert!(overlap.begin().was_alone());
    }
}
