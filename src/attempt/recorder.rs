use crate::evidence::{Invocation, Record};
use futures::future::BoxFuture;

/// What an attempt may show while it is under way; never stored.
#[derive(Debug, Clone)]
pub enum Progress {
    /// The model wrote this.
    Token(String),
    /// A tool is running.
    Tool(String),
    /// The model that is asked.
    Model(String),
    /// A line of a process's output.
    Output(String),
}

/// Where an attempt leaves its records.
pub trait Recorder: Send + Sync {
    /// Stores a record before it returns. `Err` means that the run is no longer ours: stop at once.
    fn record(&self, record: Record) -> BoxFuture<'_, Result<(), Stopped>>;
    /// Shows something; may drop it.
    fn progress(&self, progress: Progress);
}

/// The journal takes no more from this attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another process owns the lease of the run, or the journal is closed")]
pub struct Stopped;

/// The evidence among records: the calls that have a result.
pub fn invocations(records: &[Record]) -> impl Iterator<Item = &Invocation> {
    records.iter().filter_map(|record| match record {
        Record::ToolResult { invocation, .. } => Some(invocation),
        _ => None,
    })
}
