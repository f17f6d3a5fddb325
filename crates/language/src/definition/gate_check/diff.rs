//! `diff:`: which files a step may change, and how much.

use super::spec::CheckKind;
use crate::definition::check::pattern;
use crate::definition::keys::KeyType::Map;
use crate::definition::keys::{KeySpec, key, keys};
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::Reference;
use kb_base::diagnostic::{Code, Diagnostic};

keys! {
    /// Limits of the changes that the step made since it started, with or without git.
    pub struct DiffCheck(Debug, Clone, Default): DIFF = ("diff", "a `diff` check") {
        /// Globs of the only files that may change.
        only: Option<Vec<String>> = "only" => only, default("all files"), example("[\"src/**\"]");
        /// Globs of files that must not change.
        forbid: Vec<String> = "forbid" => pattern::globs, example("[\"**/*.lock\"]");
        /// Maximum number of changed files.
        max_files: Option<u32> = "maxFiles", example("10");
        /// Maximum number of added and removed lines together.
        max_lines: Option<u32> = "maxLines", example("200");
    }
}

fn only(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Vec<String>> {
    Some(pattern::globs(node, key, decoder))
}

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
        DiffCheck::of(&fields, decoder)
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
