use crate::value::Json;

/// What a JSON Schema says about one key of a value that fits it.
pub(super) enum Key<'a> {
    /// It is there, or may be, with this schema.
    Known(&'a Json),
    /// Nothing is said that rules it out.
    Open,
    /// No such key; these are the ones that there are.
    Missing(Vec<&'a str>),
}

/// References and alternatives are followed this far; a schema that goes deeper rules nothing out.
const DEPTH: u32 = 16;

/// Looks a key up. An object schema that lists `properties` and says nothing of others has no
/// others; a value that is no object has no keys at all.
pub(super) fn key<'a>(root: &'a Json, schema: &'a Json, name: &str) -> Key<'a> {
    look_up(root, schema, name, DEPTH)
}

fn look_up<'a>(root: &'a Json, schema: &'a Json, name: &str, depth: u32) -> Key<'a> {
    let Json::Object(object) = schema else { return Key::Open };
    if depth == 0 || OPENING.iter().any(|word| object.contains_key(*word)) {
        return Key::Open;
    }
    if let Some(Json::String(reference)) = object.get("$ref") {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(Key::Open, |target| look_up(root, target, name, depth - 1));
    }
    let mut parts = Vec::new();
    for word in ["allOf", "anyOf", "oneOf"] {
        let branches = object.get(word).and_then(Json::as_array).into_iter().flatten();
        parts.extend(branches.map(|branch| look_up(root, branch, name, depth - 1)));
    }
    let own = ["properties", "type", "additionalProperties"];
    if parts.is_empty() || own.iter().any(|word| object.contains_key(*word)) {
        parts.push(own_key(schema, name, !parts.is_empty()));
    }
    merge(parts)
}

/// Words that this does not follow.
const OPENING: [&str; 8] =
    ["if", "then", "else", "dependentSchemas", "patternProperties", "$dynamicRef", "not", "const"];

fn own_key<'a>(schema: &'a Json, name: &str, beside: bool) -> Key<'a> {
    if !may_be_object(schema) {
        return Key::Missing(Vec::new());
    }
    let others = schema.get("additionalProperties");
    let properties = schema.get("properties").and_then(Json::as_object);
    if let Some(known) = properties.and_then(|properties| properties.get(name)) {
        return Key::Known(known);
    }
    match (others, properties) {
        (Some(Json::Bool(true)), _) => Key::Open,
        (Some(others @ Json::Object(_)), _) => Key::Known(others),
        (_, Some(properties)) => Key::Missing(properties.keys().map(String::as_str).collect()),
        (Some(Json::Bool(false)), None) => Key::Missing(Vec::new()),
        // `{type: object, anyOf: [...]}`: the alternatives alone say which keys there are.
        _ if beside => Key::Missing(Vec::new()),
        _ => Key::Open,
    }
}

fn may_be_object(schema: &Json) -> bool {
    match schema.get("type") {
        None => !schema.as_object().is_some_and(|map| map.contains_key("enum")),
        Some(Json::String(kind)) => kind == "object",
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) => true,
    }
}

/// One part that has the key is enough; one part that rules nothing out as well.
fn merge(parts: Vec<Key<'_>>) -> Key<'_> {
    let mut names = Vec::new();
    let mut open = false;
    for part in parts {
        match part {
            Key::Known(schema) => return Key::Known(schema),
            Key::Open => open = true,
            Key::Missing(keys) => names.extend(keys),
        }
    }
    if open { Key::Open } else { Key::Missing(names) }
}
