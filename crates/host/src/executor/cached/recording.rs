//! A recorder that also collects the calls of an attempt, and whether it exchanged messages.

use futures::future::BoxFuture;
use kb_attempt::{Progress, Recorder, Stopped};
use kb_core::evidence::{Exchange, Heard, Invocation, Record};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Passes records and messages on, and keeps the calls.
pub(super) struct Recording {
    inner: Arc<dyn Recorder>,
    calls: Mutex<Vec<Invocation>>,
    exchanged: AtomicBool,
}

impl Recording {
    pub(super) fn of(inner: Arc<dyn Recorder>) -> Recording {
        Recording { inner, calls: Mutex::default(), exchanged: AtomicBool::new(false) }
    }

    /// The calls so far, in the order of their ends.
    pub(super) fn calls(&self) -> Vec<Invocation> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the attempt said something to other steps, or asked what they said.
    pub(super) fn has_exchanged(&self) -> bool {
        self.exchanged.load(Ordering::SeqCst)
    }
}

impl Recorder for Recording {
    fn record(&self, record: Record) -> BoxFuture<'_, Result<(), Stopped>> {
        if let Record::ToolResult { invocation, .. } = &record {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(invocation.clone());
        }
        self.inner.record(record)
    }

    fn exchange(&self, call: String, exchange: Exchange) -> BoxFuture<'_, Result<Heard, Stopped>> {
        self.exchanged.store(true, Ordering::SeqCst);
        self.inner.exchange(call, exchange)
    }

    fn progress(&self, progress: Progress) {
        self.inner.progress(progress);
    }

    fn active(&self) {
        self.inner.active();
    }
}
