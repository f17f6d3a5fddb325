//! JSON values, canonical text and conversion to text.

use super::Digest;
use serde::de::DeserializeOwned;
use std::io::{self, Write};

/// A JSON value; objects keep the order in which their keys were written.
pub type Json = serde_json::Value;
/// A JSON object; keys keep their order.
pub type JsonMap = serde_json::Map<String, Json>;

/// Parses JSON that `kb` has written, without a depth limit. Values from outside have at most 128
/// levels, the limit of their parser; the levels that `kb` adds must not make them unreadable.
pub fn read_back<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// Writes the canonical text of a value, for digests: compact, with sorted keys at every level.
fn write_canonical(value: &Json, out: &mut impl Write) -> io::Result<()> {
    match value {
        Json::Array(items) => {
            out.write_all(b"[")?;
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.write_all(b",")?;
                }
                write_canonical(item, out)?;
            }
            out.write_all(b"]")
        }
        Json::Object(map) => {
            let mut entries: Vec<(&String, &Json)> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.write_all(b"{")?;
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.write_all(b",")?;
                }
                serde_json::to_writer(&mut *out, key)?;
                out.write_all(b":")?;
                write_canonical(value, out)?;
            }
            out.write_all(b"}")
        }
        scalar => Ok(serde_json::to_writer(out, scalar)?),
    }
}

impl Digest {
    /// The digest of the canonical text of a value; the order of keys does not matter.
    pub fn of_json(value: &Json) -> Digest {
        // Large values have no second copy, and writing to a digest cannot fail.
        Digest::of_written(|out| write_canonical(value, out).unwrap_or_default())
    }
}

/// A value as text: strings unchanged, everything else as compact JSON, null as `null`.
pub fn json_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The texts in a value and its keys, one a line, as they are without the escapes of JSON.
pub fn json_strings(value: &Json) -> String {
    let mut text = String::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Json::String(own) => text.extend([own.as_str(), "\n"]),
            Json::Array(items) => open.extend(items),
            Json::Object(fields) => {
                for (key, value) in fields {
                    text.extend([key.as_str(), "\n"]);
                    open.push(value);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
    text
}

/// The type name of a value, for messages: `null`, `boolean`, `number`, `string`, `list`, `object`.
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
