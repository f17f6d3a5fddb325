use super::Recorder;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What an attempt has around it.
#[derive(Clone)]
pub struct Context {
    /// Cancelled when the attempt is to stop.
    pub cancel: CancellationToken,
    /// Where records go.
    pub recorder: Arc<dyn Recorder>,
}
