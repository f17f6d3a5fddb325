//! Compares a recorded value with the expected one.

use kb_base::value::Json;

/// Maximum number of differences in one message.
const SHOWN: usize = 8;
/// Maximum number of characters of a value in a message.
const LONGEST: usize = 120;

/// The differences between an expected and a recorded value, each with its path. Of a map, the expected
/// keys are compared; of a list, all items.
pub(super) fn differences(expected: &Json, found: &Json) -> Vec<String> {
    let mut all = Vec::new();
    compare("", expected, found, &mut all);
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all
}

fn compare(path: &str, expected: &Json, found: &Json, all: &mut Vec<String>) {
    let at = |text: String| match path {
        "" => text,
        path => format!("`{path}`: {text}"),
    };
    match (expected, found) {
        (Json::Object(expected), Json::Object(found)) => {
            for (key, value) in expected {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match found.get(key) {
                    Some(found) => compare(&path, value, found, all),
                    None => all.push(format!("`{path}` is missing")),
                }
            }
        }
        (Json::Array(expected), Json::Array(found)) if expected.len() == found.len() => {
            for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{path}[{index}]"), expected, found, all);
            }
        }
        (Json::Array(expected), Json::Array(found)) => {
            let (expected, items) = (expected.len(), found.len());
            let found = short(&Json::Array(found.clone()));
            all.push(at(format!("expected {expected} items, found {items}: {found}")));
        }
        (expected, found) if same(expected, found) => {}
        (expected, found) => {
            all.push(at(format!("expected {}, found {}", short(expected), short(found))));
        }
    }
}

/// Whether two values are equal; `3` and `3.0` are.
fn same(expected: &Json, found: &Json) -> bool {
    match (expected.as_f64(), found.as_f64()) {
        (Some(expected), Some(found)) => expected == found,
        _ => expected == found,
    }
}

/// A value as a short text.
pub(super) fn short(value: &Json) -> String {
    // Texts keep their quotes, so that `"3"` differs from `3`.
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::differences;
    use serde_json::json;

    #[test]
    fn maps_are_compared_by_the_expected_keys_and_lists_whole() {
        let found = json!({"a": 1, "b": {"c": "x", "d": [1, 2]}, "e": null});
        let none: [&str; 0] = [];
        assert_eq!(differences(&json!({"a": 1.0, "b": {"d": [1, 2]}}), &found), none);
        assert_eq!(
            differences(&json!({"a": 2, "b": {"d": [1]}, "z": 0}), &found),
            [
                "`a`: expected `2`, found `1`",
                "`b.d`: expected 1 items, found 2: `[1,2]`",
                "`z` is missing"
            ]
        );
        assert_eq!(differences(&json!("x"), &json!(["x"])), ["expected `\"x\"`, found `[\"x\"]`"]);
    }
}
