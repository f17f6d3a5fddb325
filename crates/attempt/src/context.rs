//! The surroundings of an attempt.

use super::Recorder;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Cancellation and recording for one attempt.
#[derive(Clone)]
pub struct Context {
    /// Cancelled when the attempt must stop.
    pub cancel: CancellationToken,
    /// Stores the records of the attempt.
    pub recorder: Arc<dyn Recorder>,
    /// How the process that drives the run stops. Child runs stop in the same way.
    pub shutdown: Shutdown,
}

/// How the process that drives a run stops. The run continues later in another process.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Cancelled when no attempt may start any more and the running ones end.
    pub drain: CancellationToken,
    /// Cancelled when the run is left at once; attempts that were running continue after a resume.
    pub abandon: CancellationToken,
}
