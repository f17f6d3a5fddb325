//! The answer in an output, which a judge reviews.

use kb_base::value::{Json, json_text};

/// Answers with up to so many characters are not judged.
const SHORT: usize = 50;
/// Number of characters of an answer that a judge reads.
pub(super) const JUDGED_CHARS: usize = 16_000;

/// The answer of an output: its summary, with the other keys if there are any.
pub(super) fn answer(output: &Json) -> String {
    let only_summary = output.as_object().is_some_and(|object| object.len() == 1);
    match output.get("summary").and_then(Json::as_str).filter(|_| only_summary) {
        Some(summary) => summary.to_owned(),
        None => json_text(output),
    }
}

/// Whether an answer is long enough for a judge.
pub(super) fn is_judged(answer: &str) -> bool {
    answer.chars().count() > SHORT
}
