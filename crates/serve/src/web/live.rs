//! Wakes the streams, and counts them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;

/// Maximum number of open streams.
pub(super) const MOST_STREAMS: usize = 128;
/// Counters of changes, and the number of open streams.
#[derive(Debug)]
pub(super) struct Live {
    changes: watch::Sender<u64>,
    stores: watch::Sender<u64>,
    streams: Arc<AtomicUsize>,
}

impl Default for Live {
    fn default() -> Self {
        let counter = || watch::Sender::new(0);
        Live { changes: counter(), stores: counter(), streams: Arc::default() }
    }
}

/// The place of an open stream; freed when it is dropped.
#[derive(Debug)]
pub(super) struct StreamSlot(Arc<AtomicUsize>);

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Live {
    /// A place for a stream; `None` if too many are open.
    pub(super) fn slot(&self) -> Option<StreamSlot> {
        let more = |open: usize| (open < MOST_STREAMS).then_some(open + 1);
        let taken = self.streams.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.is_ok().then(|| StreamSlot(self.streams.clone()))
    }

    /// Number of open streams.
    pub(super) fn streams(&self) -> usize {
        self.streams.load(Ordering::Acquire)
    }

    /// Wakes what reads journals.
    pub(super) fn wake(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Wakes what depends on a trigger store: a token may have been revoked.
    pub(super) fn wake_stores(&self) {
        self.stores.send_modify(|count| *count += 1);
    }

    /// Changes of journals and stores from now on.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Changes of trigger stores from now on.
    pub(super) fn subscribe_stores(&self) -> watch::Receiver<u64> {
        self.stores.subscribe()
    }
}
