//! The event channel: updates of a run from the dispatcher to displays, bounded. A reader that is too
//! slow reads the journal instead.

use super::setup::Update;
use crate::journal::StoredEvent;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How many events and lines of progress wait for a watcher at most.
const HELD: usize = 2048;

/// A line from the engine to a display. It holds a bounded number of updates: a watcher who
/// lags behind is told up to where events were stored, and finds what it missed in the journal. So
/// neither does a slow terminal hold up a run, nor does a run fill the memory with updates that no display reads.
pub fn event_channel() -> (EventSender, EventReceiver) {
    let (line, updates) = unbounded_channel();
    let held = Arc::new(Held::default());
    (EventSender { line, held: held.clone() }, EventReceiver { updates, held })
}

/// The engine's end of the line. The watcher's may be closed at any time.
#[derive(Clone)]
pub struct EventSender {
    line: UnboundedSender<Update>,
    held: Arc<Held>,
}

/// The watcher's end of the line.
pub struct EventReceiver {
    updates: UnboundedReceiver<Update>,
    held: Arc<Held>,
}

#[derive(Default)]
struct Held {
    count: AtomicUsize,
    missed: AtomicU64,
    nearly_full: Notify,
}

impl EventSender {
    /// Tells of so many events, the last of which has this seq. They are made only where there is
    /// room for them.
    pub(super) fn stored(&self, last: u64, count: usize, make: impl FnOnce() -> Vec<StoredEvent>) {
        if self.takes(count) {
            let _ = self.line.send(Update::Stored(make()));
        } else {
            self.held.missed.store(last, Ordering::Release);
            self.held.nearly_full.notify_one();
        }
    }

    /// Shows something that is never stored. A watcher who is far behind does without.
    pub(super) fn progress(&self, update: Update) {
        if self.takes(1) {
            let _ = self.line.send(update);
        }
    }

    fn takes(&self, count: usize) -> bool {
        let before = self.held.count.fetch_add(count, Ordering::AcqRel);
        let fits = before + count <= HELD;
        if !fits {
            self.held.count.fetch_sub(count, Ordering::AcqRel);
        } else if before + count > HELD / 2 {
            self.held.nearly_full.notify_one();
        }
        fits
    }
}

impl EventReceiver {
    /// The next update; `None` once the engine has gone and everything was taken.
    pub async fn recv(&mut self) -> Option<Update> {
        let update = self.updates.recv().await?;
        Some(self.taken(update))
    }

    /// The next update, where there is one already.
    pub fn try_recv(&mut self) -> Option<Update> {
        let update = self.updates.try_recv().ok()?;
        Some(self.taken(update))
    }

    /// Returns when it is time to take what waits, lest more be missed.
    pub fn nearly_full(&self) -> impl Future<Output = ()> + use<> {
        let held = self.held.clone();
        async move { held.nearly_full.notified().await }
    }

    /// The seq of the last event that found no room here and has to be read in the journal; 0 where
    /// all did.
    pub fn missed(&self) -> u64 {
        self.held.missed.load(Ordering::Acquire)
    }

    fn taken(&self, update: Update) -> Update {
        let count = match &update {
            Update::Stored(stored) => stored.len(),
            Update::Progress { .. } => 1,
        };
        self.held.count.fetch_sub(count, Ordering::AcqRel);
        update
    }
}
