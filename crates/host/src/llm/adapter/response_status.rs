//! A limit on the bodies of error responses, which the provider library would read completely.

use super::error::endless;
use crate::llm::target::Target;
use crate::llm::{ChatReply, ModelError};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::Poll;

/// Maximum number of polls of an error response that is not complete. Each poll can read several MiB;
/// real error messages are complete after the first.
const READS: u32 = 4;

tokio::task_local! {
    static STATUS: Arc<AtomicU16>;
}

/// Stores the status of a response as soon as the HTTP client knows it. The client calls this from
/// within the future of the request.
pub(super) fn observe(status: u16) {
    // Requests outside of `bounded`, such as those to local servers, have no such slot.
    let _ = STATUS.try_with(|seen| seen.store(status, Ordering::Relaxed));
}

/// Waits for the response, and fails if the body of an error does not end.
pub(super) async fn bounded(
    target: &Target,
    asked: impl Future<Output = Result<ChatReply, ModelError>>,
) -> Result<ChatReply, ModelError> {
    let status = Arc::new(AtomicU16::new(0));
    let mut asked = pin!(STATUS.scope(status.clone(), asked));
    let mut reads = 0;
    std::future::poll_fn(move |context| {
        let answer = asked.as_mut().poll(context);
        let seen = status.load(Ordering::Relaxed);
        if answer.is_pending() && seen >= 300 {
            reads += 1;
            if reads > READS {
                return Poll::Ready(Err(endless(seen, target)));
            }
        }
        answer
    })
    .await
}
