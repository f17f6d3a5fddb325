//! Process output of an attempt, which may be stored in a blob: its facts, for the translator, and its
//! texts, for logs and displays.

use crate::engine::Payloads;
use kb_base::value::Json;
use kb_core::evidence::{AttemptStreams, Payload};
use kb_core::redaction::Masked;
use kb_core::run::Event;
use std::borrow::Cow;
use std::convert::Infallible;

/// Makes the facts about an attempt's process available to the translator, which cannot open blobs:
/// if the streams are stored in a blob, the returned event has their sizes and the process record
/// inline. If the blob cannot be read, the event is returned unchanged.
pub(super) fn with_process_facts<'a>(
    payloads: &Payloads,
    event: &'a Masked<Event>,
) -> Cow<'a, Masked<Event>> {
    let Event::AttemptEnded { streams: Some(payload @ Payload::Blob { .. }), .. } = &**event else {
        return Cow::Borrowed(event);
    };
    let Ok(whole) = payloads.load(payload) else { return Cow::Borrowed(event) };
    let facts = Payload::inline(AttemptStreams::of(&whole).without_text().to_json());
    let inlined: Result<_, Infallible> = event.clone().rearrange(|mut event, _| {
        if let Event::AttemptEnded { streams, .. } = &mut event {
            *streams = Some(facts);
        }
        Ok(event)
    });
    inlined.map_or(Cow::Borrowed(event), Cow::Owned)
}

/// The non-blank output streams of the process of an attempt, each with the name of its channel.
pub(super) fn stream_texts(streams: &Json) -> Vec<(&'static str, String)> {
    let streams = AttemptStreams::of(streams);
    let stdout = with_cut_note(streams.stdout, streams.stdout_cut, streams.stdout_tail);
    let stderr = with_cut_note(streams.stderr, streams.stderr_cut, streams.stderr_tail);
    let texts = [("stdout", stdout), ("stderr", stderr)];
    texts.into_iter().filter(|(_, text)| !text.trim().is_empty()).collect()
}

/// The line about bytes of output that are not kept.
pub(super) fn not_kept(bytes: u64) -> String {
    format!("[{bytes} bytes are not kept here; write large output to a file]\n")
}

/// A stored stream of a process, with a line about the bytes between its beginning and its end that were not kept.
fn with_cut_note(text: Option<&str>, cut: u64, tail: Option<&str>) -> String {
    let tail = tail.unwrap_or_default();
    let bytes = cut.saturating_sub(tail.len() as u64);
    let mut text = text.unwrap_or_default().to_owned();
    if bytes > 0 {
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        text.push_str(newline);
        text.push_str(&not_kept(bytes));
    }
    text.push_str(tail);
    text
}
