//! Random access to the elements of a large JSON list without parsing all of it.

use kb_base::value::{Json, read_back};

/// The text of a JSON list with the end positions of its elements. Elements are parsed on access, so
/// the list needs little more memory than its text.
pub(super) struct JsonList {
    text: String,
    ends: Vec<usize>,
}

impl JsonList {
    /// Indexes the JSON text of a list. Any other text is treated as an empty list.
    pub(super) fn of(text: String) -> JsonList {
        let mut ends = Vec::new();
        let (mut depth, mut quoted, mut escaped) = (0u32, false, false);
        let is_list = text.starts_with('[') && text != "[]";
        for (at, byte) in text.bytes().enumerate().filter(|_| is_list) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = quoted,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b'[' | b'{' => depth += 1,
                b',' if depth == 1 => ends.push(at),
                b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        ends.push(at);
                    }
                }
                _ => {}
            }
        }
        ends.shrink_to_fit();
        JsonList { text, ends }
    }

    /// The element with this index, from 0.
    pub(super) fn get(&self, index: usize) -> Option<serde_json::Result<Json>> {
        // Each element follows a bracket or a comma.
        let before = index.checked_sub(1).map_or(0, |last| *self.ends.get(last).unwrap_or(&0));
        let end = *self.ends.get(index)?;
        self.text.get(before + 1..end).map(read_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(values: Json) {
        let list = JsonList::of(values.to_string());
        let values = values.as_array().cloned().unwrap_or_default();
        let found: Vec<Json> = (0..).map_while(|i| list.get(i)).map(Result::unwrap).collect();
        assert_eq!(found, values);
    }

    #[test]
    fn the_elements_of_a_text_are_those_of_its_list() {
        check(json!([]));
        check(json!([1]));
        check(json!([[], {}, "", null, [[1, 2], {"a,]": "}\\\",["}], "\\", "\u{2028},\"", -0.5]));
        check(json!({"a": [1, 2]}));
        check(json!("[1, 2]"));
        check(json!((0..1000).map(|i| json!({"n": [i, "]"]})).collect::<Vec<_>>()));
    }
}
