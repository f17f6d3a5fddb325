//! `command:`: a program with arguments exits with status 0.

use super::spec::CheckKind;
use crate::definition::check::{argv, pattern};
use crate::definition::keys::KeyType::{Boolean, Duration, List, ListOrOne, ScalarTemplate, Text};
use crate::definition::keys::{KeySpec, key, keys};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use std::time;

/// A `command` check: a command that must exit with status 0.
#[derive(Debug, Clone)]
pub struct CommandCheck {
    /// Program and arguments; placeholders are allowed in the arguments.
    pub argv: Vec<Template>,
    /// Globs of files that decide the result and that the step must not change.
    pub inputs: Vec<String>,
    /// Globs of files that decide the result and that the step may change.
    pub may_change: Vec<String>,
    /// Whether the command must fail on the files as they were before the step.
    pub must_fail_before: bool,
    /// Whether the command must end with another exit code than 0.
    pub must_fail: bool,
    /// What is required of the tests that the command runs.
    pub tests: Option<TestRequirement>,
    /// Time limit of the command; the timeout of the step applies as well.
    pub timeout: Option<time::Duration>,
}

keys! {
    /// Requirements on the tests of a `command` check.
    pub struct TestRequirement(Debug, Clone, Copy, PartialEq, Eq): TESTS = ("tests", "`tests`") {
        /// Minimum number of tests that run.
        min_count: u32 = "minCount", default("1");
        /// Whether at least as many tests must run as before the step. The command runs before the step too.
        not_fewer: bool = "notFewer", default("false");
    }
}

const ONLY: &[&str] = &["command"];

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
            "mayChange",
            ListOrOne(&Text),
            "Globs of files that decide the result and that the step may change.",
        )
        .only(ONLY)
        .example("[package.json]"),
        key(
            "mustFailBefore",
            Boolean,
            "Whether the command must fail on the files as they were before the step. It runs before the step too.",
        )
        .only(ONLY)
        .default("false"),
        key("mustFail", Boolean, "Whether the command must end with another exit code than 0.")
            .only(ONLY)
            .default("false"),
        key("tests", TestRequirement::MAP, "Requirements on the tests that the command ran.")
            .only(ONLY)
            .example("{minCount: 1}"),
        key("timeout", Duration, "Time limit of the command.").only(ONLY).example("5m"),
    ];

    fn decode(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<CommandCheck> {
        let argv = argv_words(node, decoder);
        let inputs = fields.get("inputs").map(|node| pattern::globs(node, "inputs", decoder));
        let may_change =
            fields.get("mayChange").map(|node| pattern::globs(node, "mayChange", decoder));
        let must_fail_before = fields.boolean("mustFailBefore", decoder).unwrap_or(false);
        let must_fail = fields.boolean("mustFail", decoder).unwrap_or(false);
        let tests = fields.get("tests").and_then(|node| TestRequirement::from_node(node, decoder));
        if let Some((other, span)) = contradiction(fields).filter(|_| must_fail) {
            let message = format!("`mustFail` and `{other}` contradict each other");
            let help = format!("remove `{other}`, which is about a command that exits with 0");
            decoder.push(Diagnostic::error(Code::MISPLACED_KEY, span, message).help(help));
        }
        let timeout = fields.duration("timeout", decoder);
        let (inputs, may_change) = (inputs.unwrap_or_default(), may_change.unwrap_or_default());
        Some(CommandCheck {
            argv: argv?,
            inputs,
            may_change,
            must_fail_before,
            must_fail,
            tests,
            timeout,
        })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        self.argv.iter().map(|word| word.references().collect()).collect()
    }

    fn reads_changes(&self) -> bool {
        true
    }

    fn needs_work(&self) -> Option<&'static str> {
        self.compares_with_before()
    }
}

impl CommandCheck {
    /// The key because of which the command runs before the step too, if it does.
    pub fn compares_with_before(&self) -> Option<&'static str> {
        match self {
            CommandCheck { must_fail_before: true, .. } => Some("mustFailBefore"),
            CommandCheck { tests: Some(TestRequirement { not_fewer: true, .. }), .. } => {
                Some("tests.notFewer")
            }
            _ => None,
        }
    }
}

/// A key that says something about an exit code 0, with its position.
fn contradiction(fields: &Fields<'_>) -> Option<(&'static str, Span)> {
    let keys = ["inputs", "mayChange", "mustFailBefore", "tests"];
    keys.into_iter().find_map(|key| Some((key, fields.entry(key)?.0.span)))
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
