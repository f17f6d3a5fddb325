//! The schemas in a schema: the keywords that contain them, and the targets of `$ref`.

use kb_base::value::{Json, JsonMap};
use std::collections::BTreeMap;

/// Keywords with one schema for the same value.
pub(super) const SAME: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords with a list of schemas for the same value.
pub(super) const SAME_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords with a map whose schemas apply to the same value.
pub(super) const SAME_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords with one schema for the items of a list.
pub(super) const ITEMS: [&str; 4] = ["items", "additionalItems", "contains", "unevaluatedItems"];
/// Keywords with one schema for the values of an object.
pub(super) const VALUES: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];
/// Keywords with a list of schemas for the items of a list.
pub(super) const ITEM_LISTS: [&str; 2] = ["prefixItems", "items"];
/// Keywords with a map of schemas for other values or for none.
pub(super) const OTHER_MAPS: [&str; 4] =
    ["properties", "patternProperties", "$defs", "definitions"];

/// Calls a function with each schema in a schema, the schema itself first.
pub(super) fn each_schema<'s>(schema: &'s Json, found: &mut dyn FnMut(&'s JsonMap)) {
    let Some(map) = schema.as_object() else { return };
    found(map);
    let single = SAME.iter().chain(&ITEMS).chain(&VALUES).chain(&["propertyNames"]);
    single.filter_map(|word| map.get(*word)).for_each(|inner| each_schema(inner, found));
    for word in SAME_LISTS.iter().chain(&ITEM_LISTS) {
        let list = map.get(*word).and_then(Json::as_array);
        list.into_iter().flatten().for_each(|inner| each_schema(inner, found));
    }
    for word in SAME_MAPS.iter().chain(&OTHER_MAPS) {
        let entries = map.get(*word).and_then(Json::as_object);
        entries.into_iter().flat_map(JsonMap::values).for_each(|inner| each_schema(inner, found));
    }
}

pub(super) type Anchors<'s> = BTreeMap<&'s str, &'s JsonMap>;

/// The schemas of a schema by their anchor.
pub(super) fn anchors(root: &Json) -> Anchors<'_> {
    let mut anchors = BTreeMap::new();
    each_schema(root, &mut |map| {
        let names = ["$anchor", "$id", "id"].iter().filter_map(|word| map.get(*word)?.as_str());
        for name in names {
            anchors.insert(name.trim_start_matches('#'), map);
        }
    });
    anchors
}

/// The schema that `$ref` names: `#`, `#/pointer`, `#anchor`, or the `$id` of the root before them.
pub(super) fn resolve<'s>(root: &'s Json, anchors: &Anchors<'s>, target: &str) -> Option<&'s Json> {
    let own = root.get("$id").and_then(Json::as_str).map(|id| id.trim_end_matches('#'));
    let target = own.and_then(|id| target.strip_prefix(id)).unwrap_or(target);
    match target.strip_prefix('#') {
        None | Some("") => target.trim_start_matches('#').is_empty().then_some(root),
        Some(pointer) if pointer.starts_with('/') => root.pointer(&decoded(pointer)),
        Some(anchor) => {
            let map = *anchors.get(anchor)?;
            let mut found = None;
            find(root, map, &mut found);
            found
        }
    }
}

/// The schema value that holds a map.
fn find<'s>(schema: &'s Json, map: &JsonMap, found: &mut Option<&'s Json>) {
    match schema {
        Json::Object(own) if std::ptr::eq(own, map) => *found = Some(schema),
        Json::Object(own) => own.values().for_each(|inner| find(inner, map, found)),
        Json::Array(items) => items.iter().for_each(|inner| find(inner, map, found)),
        _ => {}
    }
}

/// A fragment without percent encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match code.filter(|_| *first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[2..]),
            None => (bytes.push(*first), rest = after),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a reference names a schema of JSON Schema itself, which validators contain.
pub(super) fn is_meta_schema(target: &str) -> bool {
    target.split_once("://").is_some_and(|(_, rest)| rest.starts_with("json-schema.org/"))
}
