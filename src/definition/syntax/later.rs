use super::Decoder;
use crate::definition::model::NotYet;
use crate::diagnostic::{Code, Diagnostic, Span};

impl Decoder {
    /// Says that something of the language is not built yet. With a list, leaving it out would change
    /// what a run does, so it is noted there and running is refused.
    pub(crate) fn not_yet(&mut self, what: &str, span: Span, refuse: Option<&mut Vec<NotYet>>) {
        let help = match refuse.is_some() {
            true => "the definition loads, but cannot run with this version",
            false => "the definition loads and runs without it",
        };
        self.push(
            Diagnostic::warning(Code::NOT_YET, span, format!("`{what}` is not built yet"))
                .help(help),
        );
        if let Some(list) = refuse {
            list.push(NotYet { what: what.to_owned(), span });
        }
    }

    /// Says that something of the documents comes later and does nothing for now.
    pub(crate) fn comes_later(&mut self, what: &str, span: Span) {
        self.push(
            Diagnostic::warning(Code::COMES_LATER, span, format!("`{what}` comes later"))
                .help("it has no effect for now"),
        );
    }
}
