//! Loads a YAML or JSON file as a plain value with positions, for `--params FILE`.

use super::load::yaml;
use super::syntax::{Decoder, Value, read_text};
use kb_base::diagnostic::{Code, Diagnostic, Sources, Span};
use kb_base::value::Json;
use std::collections::BTreeMap;

/// The value of a file, with positions.
#[derive(Debug, Clone)]
pub struct LoadedValue {
    /// The whole value.
    pub value: Json,
    /// Position of the value.
    pub span: Span,
    /// Positions of the top-level entries, if the value is a map.
    pub entries: BTreeMap<String, EntrySpans>,
}

/// The positions of one map entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntrySpans {
    /// Position of the key.
    pub key: Span,
    /// Position of the value.
    pub value: Span,
}

/// Loads a YAML or JSON file as a plain value, within the size limits of definitions. The value of an
/// empty file is `None`.
pub fn load_value(path: &str, bytes: &[u8]) -> (Option<LoadedValue>, Sources, Vec<Diagnostic>) {
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
        let spans = entries.iter().map(|(key, value)| {
            (key.text.to_string(), EntrySpans { key: key.span, value: value.span })
        });
        LoadedValue { value: root.to_json(), span: root.span, entries: spans.collect() }
    });
    let mut found = decoder.finish();
    found.retain(|problem| problem.code != Code::EMPTY_FILE);
    (value, sources, found)
}
