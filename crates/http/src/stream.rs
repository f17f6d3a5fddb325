//! [`HttpStream`]: a response whose body is read while it arrives.

use crate::error::{HttpError, failed, request_failed, shown_url as shown, unusable};
use kb_base::value::format_duration;
use reqwest::Response;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A response whose body is read part by part, such as a stream of events. Dropping it closes the connection.
pub struct HttpStream {
    response: Response,
    left: u64,
    limit: u64,
    wait: Duration,
}

impl HttpStream {
    /// A stream of at most `limit` bytes, of which each part comes within `wait`.
    pub(crate) fn of(response: Response, limit: u64, wait: Duration) -> HttpStream {
        HttpStream { response, left: limit, limit, wait }
    }

    /// The status code; any status is a response.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The first header with this name that is a text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The bytes of the first header with this name, whatever they are.
    pub fn header_bytes(&self, name: &str) -> Option<&[u8]> {
        Some(self.response.headers().get(name)?.as_bytes())
    }

    /// The next part of the body, as it arrived; `None` at its end. Cancel safe.
    pub async fn next(&mut self, cancel: &CancellationToken) -> Result<Option<Vec<u8>>, HttpError> {
        let url = self.response.url().clone();
        let part = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(HttpError::Cancelled),
            part = tokio::time::timeout(self.wait, self.response.chunk()) => part,
        };
        let silent = |_| {
            let wait = format_duration(self.wait);
            let message = format!("`{}` sent nothing for {wait}", shown(url.as_str()));
            HttpError::TimedOut(failed(message))
        };
        let part = part.map_err(silent)?.map_err(|error| request_failed(&url, &error))?;
        let Some(part) = part else { return Ok(None) };
        self.left = self.left.checked_sub(part.len() as u64).ok_or_else(|| {
            let kib = self.limit >> 10;
            let message = format!("`{}` sent more than {kib} KiB", shown(url.as_str()));
            HttpError::Invalid(unusable(message))
        })?;
        Ok(Some(part.to_vec()))
    }
}
