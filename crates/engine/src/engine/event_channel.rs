//! The bounded channel on which stored events and progress reach a display.

use super::setup::Update;
use crate::journal::StoredEvent;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Maximum number of events and progress updates that wait in a channel.
const CAPACITY: usize = 512;

/// Creates an event channel. It holds a bounded number of updates. A receiver that falls behind reads
/// missed events from the journal, so a slow display neither delays a run nor fills the memory.
pub fn event_channel() -> (EventSender, EventReceiver) {
    let (sender, updates) = unbounded_channel();
    let shared = Arc::new(Shared::default());
    (EventSender { sender, shared: shared.clone() }, EventReceiver { updates, shared })
}

/// The engine's end of the channel. The receiver may be dropped at any time.
#[derive(Clone)]
pub struct EventSender {
    sender: UnboundedSender<Update>,
    shared: Arc<Shared>,
}

/// The display's end of the channel.
pub struct EventReceiver {
    updates: UnboundedReceiver<Update>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    count: AtomicUsize,
    missed: AtomicU64,
    nearly_full: Notify,
}

impl EventSender {
    /// Sends `count` events, the last of which has the number `last`. `make` is called only if the
    /// channel has capacity.
    pub(super) fn stored(&self, last: u64, count: usize, make: impl FnOnce() -> Vec<StoredEvent>) {
        if self.reserve(count) {
            let _ = self.sender.send(Update::Stored(make()));
        } else {
            self.shared.missed.store(last, Ordering::Release);
            self.shared.nearly_full.notify_one();
        }
    }

    /// Sends progress, which is never stored. It is dropped if the channel is full.
    pub(super) fn progress(&self, update: Update) {
        if self.reserve(1) {
            let _ = self.sender.send(update);
        }
    }

    fn reserve(&self, count: usize) -> bool {
        let before = self.shared.count.fetch_add(count, Ordering::AcqRel);
        let fits = before + count <= CAPACITY;
        if !fits {
            self.shared.count.fetch_sub(count, Ordering::AcqRel);
        } else if before + count > CAPACITY / 2 {
            self.shared.nearly_full.notify_one();
        }
        fits
    }
}

impl EventReceiver {
    /// Receives the next update; `None` once the engine has ended and the channel is empty.
    pub async fn recv(&mut self) -> Option<Update> {
        let update = self.updates.recv().await?;
        Some(self.release(update))
    }

    /// Receives the next update, if there is one.
    pub fn try_recv(&mut self) -> Option<Update> {
        let update = self.updates.try_recv().ok()?;
        Some(self.release(update))
    }

    /// Waits until the channel is more than half full.
    pub fn nearly_full(&self) -> impl Future<Output = ()> + use<> {
        let shared = self.shared.clone();
        async move { shared.nearly_full.notified().await }
    }

    /// Number of the last event that was not sent because the channel was full; 0 if all were sent.
    /// Missed events are in the journal.
    pub fn missed(&self) -> u64 {
        self.shared.missed.load(Ordering::Acquire)
    }

    fn release(&self, update: Update) -> Update {
        let count = match &update {
            Update::Stored(stored) => stored.len(),
            Update::Progress { .. } => 1,
        };
        self.shared.count.fetch_sub(count, Ordering::AcqRel);
        update
    }
}
