use super::load::yaml;
use super::syntax::{Decoder, Value, read_text};
use crate::diagnostic::{Code, Diagnostic, Sources, Span};
use crate::value::Json;
use std::collections::BTreeMap;

/// A file's value, and where it stands.
#[derive(Debug, Clone)]
pub struct PlacedValue {
    /// All of it.
    pub value: Json,
    /// Where it begins.
    pub span: Span,
    /// Of a map, where each key and its value stand.
    pub entries: BTreeMap<String, Entry>,
}

/// Where one entry of a map stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub key: Span,
    /// What it has.
    pub value: Span,
}

/// Reads a YAML or JSON file as a plain value, under the limits of definitions: `--params FILE`.
/// A file with nothing in it has none.
pub fn load_value(path: &str, bytes: &[u8]) -> (Option<PlacedValue>, Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let text = match read_text(path, &bytes.into(), &mut sources) {
        Ok(text) => text,
        Err(diagnostic) => return (None, sources, vec![*diagnostic]),
    };
    let mut decoder = Decoder::default();
    let root = yaml(&text, text.start..text.text.len(), &mut decoder);
    let clean = !decoder.has_errors();
    let value = root.filter(|_| clean).map(|root| {
        let entries = match &root.value {
            Value::Map(entries) => entries.as_slice(),
            _ => &[],
        };
        let places = entries
            .iter()
            .map(|(key, value)| (key.text.to_string(), Entry { key: key.span, value: value.span }));
        PlacedValue { value: root.to_json(), span: root.span, entries: places.collect() }
    });
    let mut found = decoder.finish();
    found.retain(|problem| problem.code != Code::EMPTY_FILE);
    (value, sources, found)
}
