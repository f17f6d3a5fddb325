//! Context compression: which messages are replaced, and the summary that replaces them.
//!
//! The runtime writes the summary from the recorded calls. A summary by a model would cost a call,
//! differ on replay, and could claim work that was never done. The task and the last messages stay
//! unchanged; a tool call is never separated from its result.

use super::excerpt::first_line;
use crate::llm::Message;
use kb_base::value::{Json, json_text};

/// Number of messages at the end that are never replaced.
const KEEP: usize = 4;
const LINE_CHARS: usize = 160;
const SUMMARY_CHARS: usize = 4_000;

/// Number of messages at the start of the body that a summary could replace.
pub(super) fn coverable(body: &[Message]) -> usize {
    let last = body.len().saturating_sub(KEEP);
    let starts_exchange = |at: &usize| matches!(body.get(*at), Some(Message::Assistant { .. }));
    (1..=last).rev().find(starts_exchange).unwrap_or(0)
}

/// One summary of the earlier summary and these messages, without those at the positions `keeps`.
pub(super) fn summarize(earlier: Option<&str>, covered: &[Message], keeps: &[u32]) -> String {
    let mut lines: Vec<String> =
        earlier.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
    for (at, message) in covered.iter().enumerate() {
        if keeps.contains(&(at as u32)) {
            continue;
        }
        match message {
            Message::Assistant { text, calls, .. } => {
                lines.extend(said(text));
                lines.extend(calls.iter().map(|call| {
                    let result = result_of(&call.id, &covered[at..]);
                    format!("- called `{}` {} -> {result}", call.tool, arguments(&call.args))
                }));
            }
            Message::User(text) => lines.push(format!("- user: {}", first_line(text, LINE_CHARS))),
            // Results are listed with their calls.
            Message::Tool { .. } | Message::System(_) => {}
        }
    }
    bounded(lines)
}

/// An estimate that does not depend on the model: four bytes per token.
pub(super) fn estimated_tokens(messages: &[Message]) -> u32 {
    let chars: usize = messages.iter().map(message_chars).sum();
    u32::try_from(chars / 4).unwrap_or(u32::MAX)
}

fn message_chars(message: &Message) -> usize {
    match message {
        Message::System(text) | Message::User(text) => text.len(),
        Message::Assistant { text, calls, reasoning } => {
            text.len()
                + reasoning.as_ref().map_or(0, |kept| json_text(kept).len())
                + calls.iter().map(|c| c.tool.len() + json_text(&c.args).len()).sum::<usize>()
        }
        Message::Tool { content, .. } => content.len(),
    }
}

fn said(text: &str) -> Option<String> {
    let line = first_line(text, LINE_CHARS);
    (!line.is_empty()).then(|| format!("- assistant: {line}"))
}

fn result_of(id: &str, messages: &[Message]) -> String {
    let content = messages.iter().find_map(|message| match message {
        Message::Tool { call_id, content, .. } if call_id == id => Some(content),
        _ => None,
    });
    content.map_or_else(|| "no result".to_owned(), |content| first_line(content, LINE_CHARS))
}

/// Arguments in one line; texts over 80 characters are replaced by their length.
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

/// The newest lines that fit, with a note on the number of lines left out.
fn bounded(lines: Vec<String>) -> String {
    let mut room = SUMMARY_CHARS;
    let fits = lines.iter().rev().take_while(|line| {
        let enough = room > line.len();
        room = room.saturating_sub(line.len() + 1);
        enough
    });
    let dropped = lines.len() - fits.count();
    let note = (dropped > 0).then(|| format!("- ({dropped} earlier lines omitted)"));
    note.into_iter().chain(lines.into_iter().skip(dropped)).collect::<Vec<_>>().join("\n")
}
