use super::{Decoder, Fields, Node};
use crate::definition::model::NotYet;
use crate::diagnostic::{Code, Diagnostic, Span};

impl Decoder {
    /// Says that something of the language is not supported yet. With a list, leaving it out would change
    /// what a run does, so it is noted there and running is refused.
    pub(crate) fn not_yet(&mut self, what: &str, span: Span, refuse: Option<&mut Vec<NotYet>>) {
        let help = match refuse.is_some() {
            true => "the definition loads, but cannot run with this version",
            false => "the definition loads and runs without it",
        };
        self.push(
            Diagnostic::warning(
                Code::NOT_IMPLEMENTED,
                span,
                format!("`{what}` is not supported yet"),
            )
            .help(help),
        );
        if let Some(list) = refuse {
            list.push(NotYet { what: what.to_owned(), span });
        }
    }

    /// Says that something of the documents comes later and does nothing for now.
    pub(crate) fn comes_later(&mut self, what: &str, span: Span) {
        self.push(
            Diagnostic::warning(Code::PLANNED, span, format!("`{what}` is not supported yet"))
                .help("it has no effect for now"),
        );
    }
}

/// Keys that the language has and that are not supported yet: read for their shape.
pub(crate) fn later(fields: &Fields<'_>, decoder: &mut Decoder, not_yet: &mut Vec<NotYet>) {
    for key in ["recovery", "loop", "locks", "budget"] {
        if let Some((at, node)) = fields.entry(key) {
            shape(key, node, decoder);
            decoder.not_yet(key, at.span, Some(not_yet));
        }
    }
    for key in ["cache", "includeArtifacts"] {
        if let Some((at, _)) = fields.entry(key) {
            decoder.not_yet(key, at.span, None);
        }
    }
}

fn shape(key: &str, node: &Node, decoder: &mut Decoder) {
    const ROW: [&str; 7] = ["on", "do", "max", "backoff", "initial", "maxDelay", "to"];
    match key {
        "recovery" => match node.as_seq() {
            Some(rows) => rows.iter().for_each(|row| {
                decoder.fields(row, "a row of `recovery`", &ROW);
            }),
            None => decoder.wrong_type(node, key, "a list of rows"),
        },
        "budget" => budget(node, decoder),
        "locks" => {
            decoder.texts(node, key);
        }
        _ => {
            if node.as_map().is_none() {
                decoder.wrong_type(node, key, "a map");
            }
        }
    }
}

/// `budget:` of a run or a step.
pub(crate) fn budget(node: &Node, decoder: &mut Decoder) {
    const KEYS: [&str; 4] = ["maxCostUsd", "warnCostUsd", "maxTokens", "maxToolCalls"];
    if let Some(fields) = decoder.fields(node, "`budget`", &KEYS) {
        for (name, _, node) in fields.iter() {
            decoder.number(node, name, 0.0, f64::INFINITY);
        }
    }
}
