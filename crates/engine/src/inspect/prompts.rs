//! The prompts of model calls as entries of a run's log. Start at [`texts`].

use super::InspectError;
use super::log_entry::LogEntry;
use kb_base::value::{Json, Timestamp, json_text};
use kb_core::evidence::{Payload, Prompt, PromptPart, Record};
use std::sync::Arc;

/// The prompt of a model call: a line with its size, then the messages, tools and schema that no
/// earlier call of the attempt contained.
pub(super) fn texts(
    record: &Record,
    instance: &str,
    step: &str,
    at: Timestamp,
    load: impl Fn(&Payload) -> Result<Arc<Json>, InspectError>,
) -> Result<Vec<LogEntry>, InspectError> {
    let Record::ModelCall { turn, model, prompt, request, .. } = record else {
        return Ok(Vec::new());
    };
    let entry = |channel: &'static str, text: String| LogEntry::Text {
        at,
        instance: instance.to_owned(),
        step: step.to_owned(),
        channel,
        text,
    };
    let Some(prompt) = prompt else {
        let text = format!("turn {turn} of `{model}`: not recorded; digest {request}");
        return Ok(vec![entry("prompt", text)]);
    };
    let mut entries = vec![entry("prompt", heading(*turn, model, prompt))];
    let parts = prompt.messages.iter().map(|part| (None, part));
    let parts = parts
        .chain(prompt.tools.iter().map(|part| (Some("tools"), part)))
        .chain(prompt.schema.iter().map(|part| (Some("schema"), part)));
    for (channel, PromptPart { content, .. }) in parts {
        let Some(content) = content else { continue };
        let content = load(content)?;
        entries.push(match channel {
            Some(channel) => entry(channel, pretty(&content)),
            None => entry(role(&content), message(&content)),
        });
    }
    Ok(entries)
}

fn heading(turn: u32, model: &str, prompt: &Prompt) -> String {
    let count = prompt.messages.len();
    let shown = prompt.messages.iter().filter(|part| part.content.is_none()).count();
    let plural = if count == 1 { "" } else { "s" };
    let earlier = if shown == 0 { String::new() } else { format!(", {shown} shown above") };
    format!("turn {turn} of `{model}`: {count} message{plural}{earlier}")
}

fn role(message: &Json) -> &'static str {
    match message["role"].as_str() {
        Some("system") => "system",
        Some("user") => "user",
        Some("assistant") => "assistant",
        Some("tool") => "tool",
        _ => "message",
    }
}

fn message(message: &Json) -> String {
    let mut text = message["text"].as_str().unwrap_or_default().to_owned();
    for call in message["calls"].as_array().into_iter().flatten() {
        if !text.is_empty() {
            text.push('\n');
        }
        let (id, tool) = (json_text(&call["id"]), json_text(&call["tool"]));
        text.push_str(&format!("[{id}] {tool} {}", json_text(&call["args"])));
    }
    match message["callId"].as_str() {
        Some(id) => format!("[{id}] {text}"),
        None => text,
    }
}

fn pretty(value: &Json) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
