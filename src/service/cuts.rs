use super::ServiceError;
use crate::engine::Payloads;
use crate::run::{Event, Payload};
use crate::value::Json;
use std::borrow::Cow;
use std::sync::Arc;

/// The same event, with what its process left within reach of who translates it: long streams lie in a
/// blob, which a translator cannot open.
pub(super) fn with_cuts<'a>(
    payloads: &Payloads,
    event: &'a Event,
) -> Result<Cow<'a, Event>, ServiceError> {
    let Event::AttemptEnded { streams: Some(payload @ Payload::Blob { .. }), .. } = event else {
        return Ok(Cow::Borrowed(event));
    };
    let whole: Arc<Json> = payloads.load(payload)?;
    let mut event = event.clone();
    if let Event::AttemptEnded { streams, .. } = &mut event {
        let kept = ["stdoutCut", "stderrCut", "process"].into_iter();
        let kept = kept.filter_map(|key| Some((key.to_owned(), whole.get(key)?.clone())));
        *streams = Some(Payload::inline(Json::Object(kept.collect())));
    }
    Ok(Cow::Owned(event))
}
