use crate::engine::Payloads;
use crate::evidence::Payload;
use crate::run::Event;
use crate::value::Json;
use std::borrow::Cow;

/// The same event, with what its process left within reach of who translates it: long streams lie in a
/// blob, which a translator cannot open. Where that cannot be read, it is missing from what is shown.
pub(super) fn with_cuts<'a>(payloads: &Payloads, event: &'a Event) -> Cow<'a, Event> {
    let Event::AttemptEnded { streams: Some(payload @ Payload::Blob { .. }), .. } = event else {
        return Cow::Borrowed(event);
    };
    let Ok(whole) = payloads.load(payload) else { return Cow::Borrowed(event) };
    let mut event = event.clone();
    if let Event::AttemptEnded { streams, .. } = &mut event {
        let kept = ["stdoutCut", "stderrCut", "process"].into_iter();
        let kept = kept.filter_map(|key| Some((key.to_owned(), whole.get(key)?.clone())));
        *streams = Some(Payload::inline(Json::Object(kept.collect())));
    }
    Cow::Owned(event)
}
