//! Counts requests, for `/metrics`.

use super::exposition::{Exposition, MetricKind};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Limits of the histogram in seconds.
const LIMITS: [f64; 7] = [0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 30.0];

/// The requests since the server started.
#[derive(Debug, Default)]
pub(super) struct Meter {
    counts: Mutex<Counts>,
}

#[derive(Debug, Clone, Default)]
struct Counts {
    by_status: BTreeMap<u16, u64>,
    up_to: [u64; LIMITS.len()],
    seconds: f64,
}

impl Meter {
    /// Counts an answer, and the time to its first byte.
    pub(super) fn add(&self, status: u16, took: Duration) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.by_status.entry(status).or_default() += 1;
        counts.seconds += took.as_secs_f64();
        for (count, limit) in counts.up_to.iter_mut().zip(LIMITS) {
            *count += u64::from(took.as_secs_f64() <= limit);
        }
    }

    /// Writes the counts.
    pub(super) fn write(&self, text: &mut Exposition) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let name = "kb_http_requests_total";
        text.family(name, MetricKind::Counter, "Answers by HTTP status.");
        for (status, count) in &counts.by_status {
            text.sample(name, &[("status", &status.to_string())], *count as f64);
        }
        let name = "kb_http_request_duration_seconds";
        text.family(name, MetricKind::Histogram, "Time from a request to the head of its answer.");
        let all: u64 = counts.by_status.values().sum();
        for (limit, count) in LIMITS.iter().zip(counts.up_to) {
            text.sample(&format!("{name}_bucket"), &[("le", &limit.to_string())], count as f64);
        }
        text.sample(&format!("{name}_bucket"), &[("le", "+Inf")], all as f64);
        text.sample(&format!("{name}_sum"), &[], counts.seconds);
        text.sample(&format!("{name}_count"), &[], all as f64);
    }
}
