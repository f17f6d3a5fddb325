//! `diff:`: which files a step may change, and how much.

use super::spec::CheckKind;
use crate::definition::check::pattern;
use crate::definition::keys::KeyType::{Integer, ListOrOne, Map, Text};
use crate::definition::keys::{KeySpec, KeyTable, key, table};
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::Reference;
use kb_base::diagnostic::{Code, Diagnostic};

/// A `diff` check: limits of the changes between the start of the step and now.
#[derive(Debug, Clone, Default)]
pub struct DiffCheck {
    /// Globs of the only files that may change; `None`: all.
    pub only: Option<Vec<String>>,
    /// Globs of files that must not change.
    pub forbid: Vec<String>,
    /// Maximum number of changed files.
    pub max_files: Option<u32>,
    /// Maximum number of added and removed lines together.
    pub max_lines: Option<u32>,
}

static DIFF: KeyTable = table(
    "diff",
    "a `diff` check",
    "Limits of the changes that the step made since it started, with or without git.",
    &[DIFF_KEYS],
);

const DIFF_KEYS: &[KeySpec] = &[
    key("only", ListOrOne(&Text), "Globs of the only files that may change.")
        .default("all files")
        .example("[\"src/**\"]"),
    key("forbid", ListOrOne(&Text), "Globs of files that must not change.")
        .example("[\"**/*.lock\"]"),
    key("maxFiles", Integer(0, u32::MAX), "Maximum number of changed files.").example("10"),
    key("maxLines", Integer(0, u32::MAX), "Maximum number of added and removed lines together.")
        .example("200"),
];

impl CheckKind for DiffCheck {
    const NAME: &'static str = "diff";
    const KEYS: &'static [KeySpec] =
        &[key("diff", Map(&DIFF), "Limits which files the step may change, and how much.")
            .example("{only: [\"src/**\"], maxFiles: 10}")];

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<DiffCheck> {
        let fields = decoder.fields(node, &DIFF)?;
        if fields.iter().next().is_none() {
            let problem = Diagnostic::warning(Code::NO_EFFECT, node.span, "`diff` has no limit");
            decoder.push(problem.help("add `only`, `forbid`, `maxFiles` or `maxLines`"));
        }
        let only = fields.get("only").map(|node| pattern::globs(node, "only", decoder));
        let forbid = fields.get("forbid").map(|node| pattern::globs(node, "forbid", decoder));
        Some(DiffCheck {
            only,
            forbid: forbid.unwrap_or_default(),
            max_files: fields.integer("maxFiles", decoder),
            max_lines: fields.integer("maxLines", decoder),
        })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        Vec::new()
    }

    fn reads_changes(&self) -> bool {
        true
    }

    fn needs_work(&self) -> Option<&'static str> {
        Some("diff")
    }
}
