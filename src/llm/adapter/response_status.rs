//! A bound on bodies of errors, which the library reads whole, however long they are.

use super::error::endless;
use crate::llm::target::Target;
use crate::llm::{ChatReply, ModelError};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::Poll;

/// How often an answer that is an error may have more to come. Each time brings one read of the
/// connection or a few, each of 400 KiB at most; what providers say of an error fits into the first.
const READS: u32 = 24;

tokio::task_local! {
    static STATUS: Arc<AtomicU16>;
}

/// Tells those who wait for an answer its status, as soon as that is known. Called by the client
/// from within the future that asks.
pub(super) fn answered(status: u16) {
    // Who asks without waiting so, such as a look for local servers, reads by itself.
    let _ = STATUS.try_with(|seen| seen.store(status, Ordering::Relaxed));
}

/// Waits for an answer, and gives up on the body of an error that has no end.
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
