//! The limits of a field of an answer, in words, before it is answered.

use kb_base::value::{Json, json_text};

/// The limits that a schema sets, such as `from 1 to 9`; `None` without any that words exist for.
pub fn field_limits(schema: &Json) -> Option<String> {
    let number = |key: &str| schema.get(key).map(json_text);
    let range = |low: &str, high: &str, of: &str| match (number(low), number(high)) {
        (Some(low), Some(high)) => Some(format!("from {low} to {high}{of}")),
        (Some(low), None) => Some(format!("at least {low}{of}")),
        (None, Some(high)) => Some(format!("at most {high}{of}")),
        (None, None) => None,
    };
    let named = |key: &str, words: &str| number(key).map(|value| format!("{words} {value}"));
    // As it is written: a pattern of a parameter holds for the whole text.
    let whole = |text: &str| Some(text.strip_prefix("^(?:")?.strip_suffix(")$")?.to_owned());
    let pattern = schema["pattern"].as_str().map(|text| whole(text).unwrap_or(text.to_owned()));
    let parts = [
        range("minimum", "maximum", ""),
        named("exclusiveMinimum", "more than"),
        named("exclusiveMaximum", "less than"),
        named("multipleOf", "a multiple of"),
        range("minLength", "maxLength", " characters"),
        range("minItems", "maxItems", " entries"),
        pattern.map(|text| format!("of the pattern {text}")),
        named("format", "of the format"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn limits_are_words() {
        let words = |schema| field_limits(&schema).unwrap_or_default();
        assert_eq!(words(json!({"minimum": 1, "maximum": 9})), "from 1 to 9");
        assert_eq!(
            words(json!({"minLength": 2, "pattern": "^a"})),
            "at least 2 characters, of the pattern ^a"
        );
        assert_eq!(words(json!({"pattern": "^(?:v[0-9]+)$"})), "of the pattern v[0-9]+");
        assert_eq!(words(json!({"type": "string"})), "");
    }
}
