//! What completion reads, and the items that it offers.

use super::cursor::Cursor;
use super::known::Known;
use super::position::range;
use kb_base::value::Json;
use kb_language::definition::DefinitionFile;
use kb_service::service::Project;
use serde_json::json;

/// Kinds of items, as the protocol numbers them.
pub(super) mod kind {
    pub(crate) const FUNCTION: u32 = 3;
    pub(crate) const FIELD: u32 = 5;
    pub(crate) const VARIABLE: u32 = 6;
    pub(crate) const MODULE: u32 = 9;
    pub(crate) const PROPERTY: u32 = 10;
    pub(crate) const VALUE: u32 = 12;
    pub(crate) const FILE: u32 = 17;
    pub(crate) const REFERENCE: u32 = 18;
    pub(crate) const FOLDER: u32 = 19;
}

/// What completion reads: the place, the text, and what is known about the file and its project.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) file: DefinitionFile,
    pub(super) cursor: &'a Cursor,
    pub(super) text: &'a str,
    pub(super) offset: usize,
    pub(super) known: Option<&'a Known>,
    pub(super) project: &'a Project,
}

/// An item that replaces the `typed` text before the cursor: editors disagree about what a word is.
pub(super) fn item(
    context: &Context<'_>,
    typed: &str,
    label: &str,
    kind: u32,
    detail: &str,
) -> Json {
    let Context { text, offset, .. } = *context;
    let start = offset - typed.len();
    let new = if text[..start].ends_with(['"', '\'']) { label.to_owned() } else { plain(label) };
    let edit = json!({"range": range(text, start, offset), "newText": new});
    json!({"label": label, "kind": kind, "detail": detail, "filterText": label, "textEdit": edit})
}

/// A text as a YAML scalar, in quotes where it needs them.
fn plain(label: &str) -> String {
    let special = label.starts_with(|c: char| "*&!|>%@`\"'#{}[],?:-".contains(c));
    let needs_quotes = special || label.contains(": ") || label.contains(" #");
    if needs_quotes { format!("\"{label}\"") } else { label.to_owned() }
}
