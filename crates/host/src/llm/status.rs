//! The meaning of HTTP statuses of providers.

use super::ModelError;
use std::time::Duration;

/// The error for an HTTP status of a provider or a script. 408, 409, 425, 429 and 5xx are transient, 0 is
/// an interrupted response, and every other status is a refusal.
pub(super) fn error_of_status(
    status: u16,
    retry_after: Option<Duration>,
    message: String,
) -> ModelError {
    match status {
        0 => ModelError::Transient { message, status: None, retry_after },
        408 | 409 | 425 | 429 | 500..=599 => {
            ModelError::Transient { message, status: Some(status), retry_after }
        }
        _ => ModelError::Refused { message, status: Some(status) },
    }
}
