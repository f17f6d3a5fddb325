//! A recorder that also collects the calls of an attempt.

use futures::future::BoxFuture;
use kb_attempt::{Progress, Recorder, Stopped};
use kb_core::evidence::{Invocation, Record};
use std::sync::{Arc, Mutex, PoisonError};

/// Passes records on, and keeps the calls.
pub(super) struct Recording {
    inner: Arc<dyn Recorder>,
    calls: Mutex<Vec<Invocation>>,
}

impl Recording {
    pub(super) fn of(inner: Arc<dyn Recorder>) -> Recording {
        Recording { inner, calls: Mutex::default() }
    }

    /// The calls so far, in the order of their ends.
    pub(super) fn calls(&self) -> Vec<Invocation> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
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

    fn progress(&self, progress: Progress) {
        self.inner.progress(progress);
    }

    fn active(&self) {
        self.inner.active();
    }
}
