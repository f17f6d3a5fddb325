//! Static rule for the form of step ids and parameter names, and for reserved names.

use crate::definition::syntax::Decoder;
use crate::definition::syntax::outline::{Name, Outline};
use crate::expression::RESERVED_ROOTS;
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::StepId;

/// Checks the form of step ids and parameter names, and that none is reserved.
pub(crate) fn check(outline: &Outline, decoder: &mut Decoder) {
    for Name { text, span } in outline.all_steps() {
        if let Err(error) = StepId::new(text) {
            let found = Diagnostic::error(
                Code::BAD_ID,
                *span,
                format!("`{text}` cannot be the id of a step"),
            );
            decoder.push(found.help(format!("use {}", error.expected)));
        }
        reserved(text, *span, "a step", decoder);
    }
    for Name { text, span } in &outline.params {
        if !is_word(text) {
            let message = format!("`{text}` cannot be the name of a parameter");
            decoder.push(
                Diagnostic::error(Code::BAD_ID, *span, message)
                    .help("use a letter or `_`, then letters, digits and `_`"),
            );
        }
        reserved(text, *span, "a parameter", decoder);
    }
}

/// Reports a name that has a meaning of its own in expressions.
pub(crate) fn reserved(text: &str, span: Span, what: &str, decoder: &mut Decoder) {
    if RESERVED_ROOTS.contains(&text) {
        let message = format!("`{text}` is a reserved name and cannot name {what}");
        decoder.push(
            Diagnostic::error(Code::RESERVED_NAME, span, message)
                .help(format!("choose another name, such as `{text}_1` or `my_{text}`")),
        );
    }
}

/// Whether a text has the form `[A-Za-z_]\w*`.
pub(crate) fn is_word(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
