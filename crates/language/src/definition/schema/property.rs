//! Answers whether values of a schema can have a given path of keys.

use kb_base::value::Json;
use std::cell::Cell;

/// Whether values of a schema can have a given key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// The schema declares the key.
    Known,
    /// The schema describes the value and does not declare the key.
    Unknown,
    /// The schema leaves it open.
    Maybe,
}

/// One part of a path into a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    Key(&'a str),
    /// Any element of a list.
    Element,
}

/// Maximum depth of references, because a schema can refer to itself.
const DEEPEST: u32 = 32;
/// Maximum number of schemas that one search visits; a longer search answers [`Property::Maybe`].
const MOST: u32 = 10_000;

/// Searches a schema for a path.
pub(super) fn find(root: &Json, path: &[Part<'_>]) -> Property {
    find_in(root, root, path, 0, &Cell::new(MOST))
}

fn find_in(
    root: &Json,
    schema: &Json,
    path: &[Part<'_>],
    depth: u32,
    left: &Cell<u32>,
) -> Property {
    let Some((part, rest)) = path.split_first() else { return Property::Known };
    left.set(left.get().saturating_sub(1));
    let is_open = depth < DEEPEST && left.get() > 0;
    let Some(map) = schema.as_object().filter(|_| is_open) else { return Property::Maybe };
    if let Some(target) = map.get("$ref").and_then(Json::as_str) {
        return match resolve(root, target) {
            Some(target) => find_in(root, target, path, depth + 1, left),
            None => Property::Maybe,
        };
    }
    let mut answers = Vec::new();
    for word in ["anyOf", "oneOf", "allOf"] {
        let choices = map.get(word).and_then(Json::as_array);
        answers.extend(
            choices
                .into_iter()
                .flatten()
                .map(|choice| find_in(root, choice, path, depth + 1, left)),
        );
    }
    let own = match part {
        Part::Key(key) => own(root, map, key, rest, depth, left),
        // A schema that says nothing about elements, or more about the first ones, leaves them open.
        Part::Element if map.contains_key("prefixItems") => None,
        Part::Element => map.get("items").map(|items| find_in(root, items, rest, depth + 1, left)),
    };
    answers.extend(own);
    if answers.contains(&Property::Known) {
        Property::Known
    } else if answers.is_empty() || answers.contains(&Property::Maybe) {
        Property::Maybe
    } else {
        Property::Unknown
    }
}

/// The answer of the schema itself, without `anyOf` and the like; `None` if it has none.
fn own(
    root: &Json,
    map: &kb_base::value::JsonMap,
    key: &str,
    rest: &[Part<'_>],
    depth: u32,
    left: &Cell<u32>,
) -> Option<Property> {
    if let Some(inner) = map.get("properties").and_then(|properties| properties.get(key)) {
        return Some(find_in(root, inner, rest, depth + 1, left));
    }
    if map.contains_key("patternProperties") {
        return Some(Property::Maybe);
    }
    match map.get("additionalProperties") {
        Some(Json::Bool(true)) => return Some(Property::Maybe),
        Some(inner @ Json::Object(_)) => return Some(find_in(root, inner, rest, depth + 1, left)),
        Some(Json::Bool(false)) => return Some(Property::Unknown),
        _ => {}
    }
    if map.get("properties").and_then(Json::as_object).is_some_and(|known| !known.is_empty()) {
        return Some(Property::Unknown);
    }
    let kinds: Vec<&str> = match map.get("type") {
        Some(Json::String(kind)) => vec![kind],
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
        _ if map.contains_key("enum") || map.contains_key("const") => return Some(Property::Maybe),
        _ => return None,
    };
    Some(if kinds.contains(&"object") { Property::Maybe } else { Property::Unknown })
}

fn resolve<'s>(root: &'s Json, target: &str) -> Option<&'s Json> {
    root.pointer(target.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Json, path: &[&str], expected: Property) {
        let parts: Vec<Part<'_>> = path
            .iter()
            .map(|part| if *part == "[]" { Part::Element } else { Part::Key(part) })
            .collect();
        assert_eq!(find(&schema, &parts), expected, "{schema} {path:?}");
    }

    #[test]
    fn tells_what_a_schema_has() {
        let files = json!({"type": "object", "properties": {
            "files": {"type": "array", "items": {"type": "string"}},
            "code": {"type": "object", "additionalProperties": {"type": "string"}},
            "free": {"type": "object"},
        }});
        check(files.clone(), &["files"], Property::Known);
        check(files.clone(), &["fils"], Property::Unknown);
        check(files.clone(), &["files", "name"], Property::Unknown);
        check(files.clone(), &["code", "a.rs"], Property::Known);
        check(files.clone(), &["code", "a.rs", "x"], Property::Unknown);
        check(files.clone(), &["files", "[]", "name"], Property::Unknown);
        check(files.clone(), &["free", "[]", "name"], Property::Maybe);
        check(files, &["free", "x"], Property::Maybe);
        let rows = json!({"type": "array", "items": {"properties": {"a": {"type": "string"}}}});
        check(rows.clone(), &["[]", "a"], Property::Known);
        check(rows, &["[]", "b"], Property::Unknown);
        check(json!({}), &["x"], Property::Maybe);
        check(json!({"$ref": "#"}), &["x"], Property::Maybe);
        let either = json!({"anyOf": [{"properties": {"a": {}}}, {"type": "string"}]});
        check(either.clone(), &["a"], Property::Known);
        check(either, &["b"], Property::Unknown);
    }
}
