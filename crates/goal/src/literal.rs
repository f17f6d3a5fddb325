//! Texts of a model in a definition: without placeholders, and without the special characters of patterns.

use kb_base::value::Json;
use serde_json::json;

/// A text that is never read as a template.
pub(crate) fn literal(text: &str) -> Json {
    if text.contains('{') || text.contains("<<") {
        json!({"text": text, "raw": true})
    } else {
        json!(text)
    }
}

/// A regular expression that matches exactly this text.
pub(crate) fn pattern(text: &str) -> String {
    let special = |c: char| r"\.+*?()|[]{}^$#&-~".contains(c);
    let escaped = text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c]));
    escaped.collect()
}
