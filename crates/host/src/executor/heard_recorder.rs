//! A recorder that knows whether all records of an attempt were stored.

use futures::FutureExt;
use futures::future::BoxFuture;
use kb_attempt::{Progress, Recorder, Stopped};
use kb_core::evidence::{Exchange, Heard, Record};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Passes records on, and keeps whether one was refused.
pub(super) struct HeardRecorder {
    inner: Arc<dyn Recorder>,
    refused: AtomicBool,
}

impl HeardRecorder {
    pub(super) fn of(inner: Arc<dyn Recorder>) -> HeardRecorder {
        HeardRecorder { inner, refused: AtomicBool::new(false) }
    }

    /// Whether no record was refused.
    pub(super) fn stored_all(&self) -> bool {
        !self.refused.load(Ordering::SeqCst)
    }
}

impl Recorder for HeardRecorder {
    fn record(&self, record: Record) -> BoxFuture<'_, Result<(), Stopped>> {
        let stored = self.inner.record(record);
        let heard = stored.inspect(|stored| {
            if stored.is_err() {
                self.refused.store(true, Ordering::SeqCst);
            }
        });
        heard.boxed()
    }

    fn exchange(&self, call: String, exchange: Exchange) -> BoxFuture<'_, Result<Heard, Stopped>> {
        self.inner.exchange(call, exchange)
    }

    fn progress(&self, progress: Progress) {
        self.inner.progress(progress);
    }

    fn active(&self) {
        self.inner.active();
    }
}
