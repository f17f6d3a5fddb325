//! Process output of an attempt, which may be stored in a blob.

use crate::engine::Payloads;
use crate::evidence::{AttemptStreams, Payload};
use crate::run::Event;
use std::borrow::Cow;

/// Makes the facts about an attempt's process available to the translator, which cannot open blobs:
/// if the streams are stored in a blob, the returned event has their sizes and the process record
/// inline. If the blob cannot be read, the event is returned unchanged.
pub(super) fn with_process_facts<'a>(payloads: &Payloads, event: &'a Event) -> Cow<'a, Event> {
    let Event::AttemptEnded { streams: Some(payload @ Payload::Blob { .. }), .. } = event else {
        return Cow::Borrowed(event);
    };
    let Ok(whole) = payloads.load(payload) else { return Cow::Borrowed(event) };
    let mut event = event.clone();
    if let Event::AttemptEnded { streams, .. } = &mut event {
        *streams = Some(Payload::inline(AttemptStreams::of(&whole).without_text()));
    }
    Cow::Owned(event)
}
