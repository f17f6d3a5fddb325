//! Decodes `requires:`.

use super::{Decoder, Fields, Node};
use crate::definition::keys;
use crate::definition::keys::choices::GIT_STATE;
use crate::definition::model::Requirements;
use kb_base::diagnostic::Span;

/// Decodes `requires: {tools, files, env, git}`.
pub(crate) fn requirements(node: &Node, decoder: &mut Decoder) -> Requirements {
    let Some(fields) = decoder.fields(node, &keys::playbook::REQUIRES) else {
        return Requirements::default();
    };
    let clean = fields.choice("git", GIT_STATE, decoder);
    Requirements {
        tools: texts(&fields, "tools", decoder),
        files: texts(&fields, "files", decoder),
        env: texts(&fields, "env", decoder),
        clean: clean.and_then(|()| fields.get("git")).map(|node| node.span),
    }
}

fn texts(fields: &Fields<'_>, key: &str, decoder: &mut Decoder) -> Vec<(String, Span)> {
    let Some(node) = fields.get(key) else { return Vec::new() };
    let mut found = Vec::new();
    for item in decoder.list(node, key) {
        let Some(text) = decoder.text(item, key) else { continue };
        if text.trim().is_empty() {
            let help = "remove it, or write a name".to_owned();
            decoder.bad_value(item.span, format!("`{key}` has an empty text"), help);
            continue;
        }
        found.push((text.to_owned(), item.span));
    }
    found
}
