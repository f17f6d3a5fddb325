//! Static rule: step ids and parameter names are unique.

use crate::definition::syntax::Decoder;
use crate::definition::syntax::outline::{Name, Outline};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use std::collections::BTreeMap;

/// Checks that step ids and parameter names are unique in a definition.
pub(crate) fn check(outline: &Outline, decoder: &mut Decoder) {
    unique(outline.all_steps(), "step id", decoder);
    unique(outline.params.iter(), "parameter", decoder);
}

fn unique<'n>(names: impl Iterator<Item = &'n Name>, what: &str, decoder: &mut Decoder) {
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for Name { text, span } in names {
        if let Some(first) = seen.get(text.as_str()) {
            decoder.push(
                Diagnostic::error(Code::DUPLICATE_ID, *span, format!("duplicate {what} `{text}`"))
                    .label(*first, "first used here")
                    .help("rename one of them"),
            );
        } else {
            seen.insert(text, *span);
        }
    }
}
