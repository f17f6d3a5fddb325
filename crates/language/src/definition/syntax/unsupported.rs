//! Reports keys and values that the language has and this version does not support.

use super::{Decoder, Fields, Scalar, ScalarKind, Value};
use crate::definition::keys::Support;
use crate::definition::model::NotYet;
use kb_base::diagnostic::{Code, Diagnostic, Span};

impl Decoder {
    /// Reports every key of a map that is not supported, as its table declares. Keys that refuse a run
    /// are added to [`Decoder::refused`].
    pub(crate) fn unsupported(&mut self, fields: &Fields<'_>) {
        for (spec, key, node) in fields.iter() {
            // `false` is the same as leaving the key out.
            let off = ScalarKind::Bool(false);
            if matches!(&node.value, Value::Scalar(Scalar { kind, .. }) if *kind == off) {
                continue;
            }
            let name = qualified(fields.what(), &key.text);
            match spec.support {
                Support::Full => {}
                Support::Unused => self.unused(&name, key.span),
                Support::Planned => self.comes_later(&name, key.span),
                Support::RunRefused => self.not_yet(&name, key.span),
            }
        }
    }

    /// Reports something that is not supported. A run without it would differ from what was asked for, so it is
    /// added to [`Decoder::refused`], and the run is refused.
    pub(crate) fn not_yet(&mut self, what: &str, span: Span) {
        let help = "the definition loads, but cannot run with this version";
        self.push(Diagnostic::warning(Code::NOT_IMPLEMENTED, span, unsupported(what)).help(help));
        self.refused.push(NotYet { what: what.to_owned(), span });
    }

    /// Reports a key for other programs.
    pub(crate) fn unused(&mut self, what: &str, span: Span) {
        self.push(
            Diagnostic::info(Code::UNUSED, span, format!("`{what}` has no effect"))
                .help("other programs may use it; it can stay"),
        );
    }

    /// Reports a key or tool that other tools define, and that has no effect.
    pub(crate) fn comes_later(&mut self, what: &str, span: Span) {
        self.push(
            Diagnostic::warning(Code::PLANNED, span, unsupported(what))
                .help("it has no effect for now"),
        );
    }
}

fn unsupported(what: &str) -> String {
    format!("`{what}` is not supported yet")
}

/// `context.rag` for the key `rag` of `context`; a key of a whole file or list item stays alone.
fn qualified(what: &str, key: &str) -> String {
    let map = what.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    map.map_or_else(|| key.to_owned(), |map| format!("{map}.{key}"))
}
