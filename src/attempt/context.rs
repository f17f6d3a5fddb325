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
}
