//! `command:`: a program with arguments exits with status 0.

use super::spec::CheckKind;
use crate::definition::check::{argv, pattern};
use crate::definition::keys;
use crate::definition::model::Check;
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::diagnostic::{Code, Diagnostic};
use crate::expression::Template;

pub(super) static COMMAND: CheckKind = CheckKind { key: "command", decode };

fn decode(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<Check> {
    let argv = argv_words(node, decoder);
    let inputs = fields.get("inputs").map(|node| globs(node, decoder)).unwrap_or_default();
    let must_fail_before = fields.boolean("mustFailBefore", decoder).unwrap_or(false);
    if let Some(node) = fields.get("tests") {
        decoder.fields(node, &keys::checks::TESTS);
    }
    let timeout = fields.duration("timeout", decoder);
    Some(Check::Command { argv: argv?, inputs, must_fail_before, timeout })
}

fn argv_words(node: &Node, decoder: &mut Decoder) -> Option<Vec<Template>> {
    let Some(items) = node.as_seq().filter(|items| !items.is_empty()) else {
        let message =
            format!("`command` takes a list (a program and its arguments), found {}", node.kind());
        decoder.push(
            Diagnostic::error(Code::WRONG_TYPE, node.span, message)
                .help("write `[cargo, test]`; for a shell write `[bash, -c, \"...\"]`"),
        );
        return None;
    };
    let words: Vec<_> = items
        .iter()
        .filter_map(|item| decoder.scalar_template(item, "command", Secrets::Refused))
        .collect();
    if words.len() != items.len() {
        return None;
    }
    argv::check(&words, items, decoder);
    Some(words)
}

fn globs(node: &Node, decoder: &mut Decoder) -> Vec<String> {
    let mut found = Vec::new();
    for item in decoder.list(node, "inputs") {
        if let Some(text) = decoder.text(item, "inputs") {
            pattern::glob(text, item.span, decoder);
            found.push(text.to_owned());
        }
    }
    found
}
