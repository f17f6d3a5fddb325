use super::Digest;
use serde::de::DeserializeOwned;

/// A JSON value; objects keep the order in which their keys were written.
pub type Json = serde_json::Value;
/// A JSON object.
pub type JsonMap = serde_json::Map<String, Json>;

/// Reads JSON that we have written ourselves. Values from outside are at most 128 levels deep, which
/// is where the reader of those stops; what we wrap around them must not make them unreadable.
pub fn read_back<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// Canonical text for digests: compact, keys sorted at every level.
pub fn canonical(value: &Json) -> String {
    let mut out = Vec::new();
    write_canonical(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn write_canonical(value: &Json, out: &mut Vec<u8>) {
    // Neither a text nor a scalar can fail to be written, nor can memory fail to take it.
    match value {
        Json::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        Json::Object(map) => {
            let mut entries: Vec<(&String, &Json)> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                let _ = serde_json::to_writer(&mut *out, key);
                out.push(b':');
                write_canonical(value, out);
            }
            out.push(b'}');
        }
        scalar => {
            let _ = serde_json::to_writer(&mut *out, scalar);
        }
    }
}

impl Digest {
    /// The digest of a JSON value's canonical text; the order of keys does not matter.
    pub fn of_json(value: &Json) -> Digest {
        Digest::of(canonical(value))
    }
}

/// How a value becomes text (LANGUAGE §4): strings raw, everything else compact JSON, null `null`.
pub fn json_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The kind of a value, for messages: `null`, `boolean`, `number`, `string`, `list`, `object`.
pub fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "list",
        Json::Object(_) => "object",
    }
}
