//! Bounded forms of long texts.

use super::context::{ContextLimits, Shown};
use kb_base::value::{Json, json_text};
use kb_language::toolspec::{OUTPUT_READER, ResultPart};

/// A tool result as the model sees it: whole, or a part with a note on how to read the rest.
pub(super) fn excerpt(
    part: ResultPart,
    reference: &str,
    result: &Json,
    limits: &ContextLimits,
) -> String {
    let text = json_text(result);
    if text.trim().is_empty() {
        return "(no output)".to_owned();
    }
    match limits.shown(part) {
        Shown::Start(limit) => start(text, reference, limit),
        Shown::Ends(limit) => ends(text, reference, limit),
    }
}

fn start(text: String, reference: &str, limit: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(limit) else { return text };
    let left = text[end..].chars().count();
    format!(
        "{}\n[truncated: {left} more characters, about {} tokens; continue with `{OUTPUT_READER}` \
         {{\"ref\": \"{reference}\", \"offset\": {limit}}}]",
        &text[..end],
        left.div_ceil(4),
    )
}

/// The beginning and the end: the end of the output of a command is where its result is.
fn ends(text: String, reference: &str, limit: usize) -> String {
    let total = text.chars().count();
    if total <= limit {
        return text;
    }
    let head = limit / 2;
    let at = |place: usize| text.char_indices().nth(place).map_or(text.len(), |(at, _)| at);
    let left = total - limit;
    format!(
        "{}\n[truncated: {left} characters left out here, about {} tokens; read them with \
         `{OUTPUT_READER}` {{\"ref\": \"{reference}\", \"offset\": {head}}}]\n{}",
        &text[..at(head)],
        left.div_ceil(4),
        &text[at(head + left)..],
    )
}

/// The first line that is not blank, at most `max` characters.
pub(super) fn first_line(text: &str, max: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    match line.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
