//! `command:`: a program with arguments exits with status 0.

use super::spec::CheckKind;
use crate::definition::check::{argv, pattern};
use crate::definition::keys::KeyType::{
    Any, Boolean, Duration, List, ListOrOne, Map, ScalarTemplate, Text,
};
use crate::definition::keys::{KeySpec, KeyTable, key, table};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::diagnostic::{Code, Diagnostic};
use crate::expression::{Reference, Template};
use std::time;

/// A `command` check: a command that must exit with status 0.
#[derive(Debug, Clone)]
pub struct CommandCheck {
    /// Program and arguments; placeholders are allowed in the arguments.
    pub argv: Vec<Template>,
    /// Globs of files that decide the result and that the step must not change.
    pub inputs: Vec<String>,
    /// Whether the command must fail on the files as they were before the step. Loads, but a run with
    /// it is refused.
    pub must_fail_before: bool,
    /// Time limit of the command; the timeout of the step applies as well.
    pub timeout: Option<time::Duration>,
}

const ONLY: &[&str] = &["command"];

static TESTS: KeyTable =
    table("tests", "`tests`", "Requirements on the tests of a `command` check.", &[TESTS_KEYS]);

const TESTS_KEYS: &[KeySpec] = &[
    key("minCount", Any, "Minimum number of tests."),
    key("notFewer", Any, "Whether there must be at least as many tests as before the step."),
];

impl CheckKind for CommandCheck {
    const NAME: &'static str = "command";
    const KEYS: &'static [KeySpec] = &[
        key("command", List(&ScalarTemplate), "A program with arguments exits with status 0.")
            .example("[cargo, test]"),
        key(
            "inputs",
            ListOrOne(&Text),
            "Globs of files that decide the result and that the step must not change.",
        )
        .only(ONLY)
        .example("[\"tests/**\"]"),
        key(
            "mustFailBefore",
            Boolean,
            "Whether the command must fail on the files as they were before the step.",
        )
        .only(ONLY)
        .default("false")
        .run_refused(),
        key("tests", Map(&TESTS), "Requirements on the tests that the command ran.")
            .only(ONLY)
            .example("{minCount: 1}")
            .run_refused(),
        key("timeout", Duration, "Time limit of the command.").only(ONLY).example("5m"),
    ];

    fn decode(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<CommandCheck> {
        let argv = argv_words(node, decoder);
        let inputs = fields.get("inputs").map(|node| globs(node, decoder)).unwrap_or_default();
        let must_fail_before = fields.boolean("mustFailBefore", decoder).unwrap_or(false);
        if let Some(node) = fields.get("tests") {
            decoder.fields(node, &TESTS);
        }
        let timeout = fields.duration("timeout", decoder);
        Some(CommandCheck { argv: argv?, inputs, must_fail_before, timeout })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        self.argv.iter().map(|word| word.references().collect()).collect()
    }

    fn reads_changes(&self) -> bool {
        true
    }
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
