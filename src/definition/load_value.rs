use super::load::yaml;
use super::syntax::{Decoder, read_text};
use crate::diagnostic::{Diagnostic, Sources};
use crate::value::Json;

/// Reads a YAML or JSON file as a plain value, under the limits of definitions: `--params FILE`.
pub fn load_value(path: &str, bytes: &[u8]) -> (Option<Json>, Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let text = match read_text(path, bytes, &mut sources) {
        Ok(text) => text,
        Err(diagnostic) => return (None, sources, vec![*diagnostic]),
    };
    let mut decoder = Decoder::default();
    let root = yaml(&text, text.start..text.text.len(), &mut decoder);
    let clean = !decoder.has_errors();
    let value = root.filter(|_| clean).map(|root| root.to_json());
    (value, sources, decoder.finish())
}
