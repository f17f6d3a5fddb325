//! `command:`: a program with arguments exits with status 0.

use super::spec::CheckKind;
use crate::definition::check::{argv, pattern};
use crate::definition::keys::KeyType::{List, ScalarTemplate};
use crate::definition::keys::{KeySpec, keys};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::Json;
use std::time::Duration;

keys! {
    /// A command that must exit with status 0.
    pub struct CommandCheck(Debug, Clone) {
        /// A program with arguments exits with status 0.
        argv: Vec<Template> = "command" as List(&ScalarTemplate) => argv_words, example("[cargo, test]");
        /// Globs of files that decide the result and that the step must not change.
        inputs: Vec<String> = "inputs" => pattern::globs, only(ONLY), example("[\"tests/**\"]");
        /// Globs of files that decide the result and that the step may change.
        may_change: Vec<String> = "mayChange" => pattern::globs, only(ONLY), example("[package.json]");
        /// Whether the command must fail on the files as they were before the step. It runs before the step too.
        must_fail_before: bool = "mustFailBefore", only(ONLY), default("false");
        /// Whether the command must end with another exit code than 0.
        must_fail: bool = "mustFail", only(ONLY), default("false");
        /// Requirements on the tests that the command ran.
        tests: Option<TestRequirement> = "tests", only(ONLY), example("{minCount: 1}");
        /// Time limit of the command.
        timeout: Option<Duration> = "timeout", only(ONLY), example("5m");
    }

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
    const KEYS: &'static [KeySpec] = CommandCheck::KEYS;

    fn decode(_: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<CommandCheck> {
        let found = CommandCheck::part(fields, decoder)?;
        if let Some((other, span)) = contradiction(fields).filter(|_| found.must_fail) {
            let message = format!("`mustFail` and `{other}` contradict each other");
            let help = format!("remove `{other}`, which is about a command that exits with 0");
            decoder.push(Diagnostic::error(Code::MISPLACED_KEY, span, message).help(help));
        }
        (!found.argv.is_empty()).then_some(found)
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

/// The words of a command; empty if it is refused.
fn argv_words(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<Template> {
    let Some(items) = node.as_seq().filter(|items| !items.is_empty()) else {
        let message =
            format!("`command` takes a list (a program and its arguments), found {}", node.kind());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._/=:@-".contains(c);
        let help = match node.as_text().map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) if text.chars().all(is_plain) => {
                format!("write `[{}]`", text.split_whitespace().collect::<Vec<_>>().join(", "))
            }
            Some(text) => format!("for a shell write `[bash, -c, {}]`", Json::from(text)),
            None => "write `[cargo, test]`; for a shell write `[bash, -c, \"...\"]`".to_owned(),
        };
        decoder.push(Diagnostic::error(Code::WRONG_TYPE, node.span, message).help(help));
        return Vec::new();
    };
    let word = |item| decoder.scalar_template(item, key, Secrets::Refused);
    let words: Vec<Template> = items.iter().filter_map(word).collect();
    if words.len() != items.len() {
        return Vec::new();
    }
    argv::check(&words, items, decoder);
    words
}
