//! Shortening a context: what may go, and what stands for it.
//!
//! The summary is written by the runtime from the recorded calls, not by a model (000, ADR-0002 has
//! a model do it): it costs nothing, is the same on every replay, and cannot claim what was never
//! done. The task and the last messages stay as they are; a call is never parted from its result.

use super::excerpt::first_line;
use crate::llm::Message;
use crate::value::{Json, json_text};

/// Messages at the end that are never touched.
const KEEP: usize = 4;
const LINE_CHARS: usize = 160;
const SUMMARY_CHARS: usize = 4_000;

/// How many messages of the body a summary could stand for.
pub(super) fn foldable(body: &[Message]) -> usize {
    let last = body.len().saturating_sub(KEEP);
    let starts_exchange = |at: &usize| matches!(body.get(*at), Some(Message::Assistant { .. }));
    (1..=last).rev().find(starts_exchange).unwrap_or(0)
}

/// The earlier summary and these messages as one summary.
pub(super) fn summarize(earlier: Option<&str>, covered: &[Message]) -> String {
    let mut lines: Vec<String> =
        earlier.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
    for (at, message) in covered.iter().enumerate() {
        match message {
            Message::Assistant { text, calls } => {
                lines.extend(said(text));
                lines.extend(calls.iter().map(|call| {
                    let result = result_of(&call.id, &covered[at..]);
                    format!("- called `{}` {} -> {result}", call.tool, arguments(&call.args))
                }));
            }
            Message::User(text) => lines.push(format!("- told: {}", first_line(text, LINE_CHARS))),
            // Results stand with their calls.
            Message::Tool { .. } | Message::System(_) => {}
        }
    }
    bounded(lines)
}

/// Rough, and the same everywhere: four characters a token.
pub(super) fn estimated_tokens(messages: &[Message]) -> u32 {
    let chars: usize = messages.iter().map(message_chars).sum();
    u32::try_from(chars / 4).unwrap_or(u32::MAX)
}

fn message_chars(message: &Message) -> usize {
    match message {
        Message::System(text) | Message::User(text) => text.len(),
        Message::Assistant { text, calls } => {
            text.len()
                + calls.iter().map(|c| c.tool.len() + json_text(&c.args).len()).sum::<usize>()
        }
        Message::Tool { content, .. } => content.len(),
    }
}

fn said(text: &str) -> Option<String> {
    let line = first_line(text, LINE_CHARS);
    (!line.is_empty()).then(|| format!("- said: {line}"))
}

fn result_of(id: &str, messages: &[Message]) -> String {
    let content = messages.iter().find_map(|message| match message {
        Message::Tool { call_id, content, .. } if call_id == id => Some(content),
        _ => None,
    });
    content.map_or_else(|| "no result".to_owned(), |content| first_line(content, LINE_CHARS))
}

/// Arguments in short: long texts are only counted.
pub(super) fn arguments(args: &Json) -> String {
    let Some(map) = args.as_object() else { return first_line(&json_text(args), 80) };
    let parts = map.iter().map(|(key, value)| match value {
        Json::String(text) if text.chars().count() > 80 => {
            format!("{key}=({} characters)", text.chars().count())
        }
        other => format!("{key}={}", first_line(&json_text(other), 80)),
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// The newest lines that fit, with a word on the others.
fn bounded(lines: Vec<String>) -> String {
    let mut room = SUMMARY_CHARS;
    let fits = lines.iter().rev().take_while(|line| {
        let enough = room > line.len();
        room = room.saturating_sub(line.len() + 1);
        enough
    });
    let kept = fits.count();
    let dropped = lines.len() - kept;
    let note = (dropped > 0).then(|| format!("- ({dropped} earlier lines are left out)"));
    note.into_iter().chain(lines.into_iter().skip(dropped)).collect::<Vec<_>>().join("\n")
}
