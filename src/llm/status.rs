use super::ModelError;
use std::time::Duration;

/// What an HTTP status of a provider (or of a script) means: 408, 409, 425, 429 and 5xx pass, all
/// others will not; 0 is an answer that was cut off.
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
