//! The recorder: how an attempt stores records and shows progress.

use futures::future::BoxFuture;
use kb_core::evidence::{Exchange, Heard, Record};
use serde::{Deserialize, Serialize};

/// Progress of an attempt, which is shown and never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Progress {
    /// Text that the model generated.
    Token(String),
    /// A tool call started.
    Tool(String),
    /// A call of this model started.
    Model(String),
    /// A line that a process wrote.
    Output(String),
}

impl Progress {
    /// The text that the model generated, if that is the progress.
    pub fn into_token(self) -> Option<String> {
        match self {
            Progress::Token(text) => Some(text),
            Progress::Tool(_) | Progress::Model(_) | Progress::Output(_) => None,
        }
    }
}

/// Stores the records of an attempt.
pub trait Recorder: Send + Sync {
    /// Stores a record. The record is stored when the future ends. After an error the attempt must
    /// stop at once.
    fn record(&self, record: Record) -> BoxFuture<'_, Result<(), Stopped>>;
    /// Says something to the other steps of the run, or asks what they said. The answer comes once the event is
    /// stored. A call with the same id that was stored before gets its answer again.
    fn exchange(&self, call: String, exchange: Exchange) -> BoxFuture<'_, Result<Heard, Stopped>>;
    /// Shows progress; it may be dropped.
    fn progress(&self, progress: Progress);
    /// Notes that the attempt is not idle, without a record: something happened in its child run.
    fn active(&self);
}

/// The journal accepts no more records of this attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another process owns the lease of the run, or the journal is closed")]
pub struct Stopped;
