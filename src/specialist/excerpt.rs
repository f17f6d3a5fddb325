//! Bounded forms of long texts.

use crate::value::limits::TOOL_RESULT_CHARS;
use crate::value::{Json, json_text};

/// The tool that reads the rest of a truncated result. Its own results have a larger limit, so that
/// the rest takes few calls.
pub(super) const READ_ON: &str = "output:read";
const READ_ON_CHARS: usize = 5 * TOOL_RESULT_CHARS;

/// A tool result as the model sees it: whole, or its start with a note on how to continue reading.
pub(super) fn excerpt(tool: &str, reference: &str, result: &Json) -> String {
    let text = json_text(result);
    if text.trim().is_empty() {
        return "(no output)".to_owned();
    }
    let limit = if tool == READ_ON { READ_ON_CHARS } else { TOOL_RESULT_CHARS };
    let Some((end, _)) = text.char_indices().nth(limit) else { return text };
    let left = text[end..].chars().count();
    format!(
        "{}\n[truncated: {left} more characters, about {} tokens; continue with `{READ_ON}` \
         {{\"ref\": \"{reference}\", \"offset\": {limit}}}]",
        &text[..end],
        left.div_ceil(4),
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
