//! `file:`: files exist, contain a pattern, or were changed by the step.

use super::spec::CheckKind;
use crate::definition::check::pattern;
use crate::definition::keys::KeyType::{self, Map, OneOf};
use crate::definition::keys::{KeySpec, Named, key, keys};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};

keys! {
    /// Files that must exist or must not exist.
    pub struct FileCheck(Debug, Clone): FILE = ("file", "a `file` check") {
        /// Path or glob inside the workspace.
        path: Template = "path" => path, required, example("\"src/**/*.rs\""), names(Named::File);
        /// Minimum number of matching files.
        min_count: u32 = "minCount", default("1");
        /// A pattern that the matching files contain together.
        count: Option<FileCount> = "count" as Map(&COUNT) => file_count, example("{pattern: \"pub fn\", min: 4}");
        /// Whether the evidence must show that the step changed a matching file.
        changed: Option<bool> = "changed";
        /// Whether the path must not exist.
        absent: bool = "absent", default("false");
    }

    /// How often a pattern occurs in the matching files.
    struct CountKeys(): COUNT = ("count", "`count`") {
        /// Regular expression.
        pattern: String = "pattern" => regex, required, example("\"pub fn\"");
        /// Minimum number of matches.
        min: Option<u32> = "min", default("1, or 0 with `max`");
        /// Maximum number of matches.
        max: Option<u32> = "max";
    }
}

/// `count:` of a `file` check: how often a pattern must occur in all matching files together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCount {
    /// A regular expression in the syntax of the `regex` crate.
    pub pattern: String,
    /// Minimum number of matches.
    pub min: u32,
    /// Maximum number of matches.
    pub max: Option<u32>,
}

impl CheckKind for FileCheck {
    const NAME: &'static str = "file";
    const KEYS: &'static [KeySpec] = &[key(
        "file",
        OneOf(const { &[KeyType::Template, Map(&FILE)] }),
        "Files exist, with a path or glob.",
    )
    .example("\"src/**/*.rs\"")
    .names(Named::File)];

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<FileCheck> {
        if node.as_text().is_none() {
            return FileCheck::from_node(node, decoder);
        }
        let path = path(node, "path", decoder)?;
        Some(FileCheck { path, min_count: 1, count: None, changed: None, absent: false })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        vec![self.path.references().collect()]
    }

    fn reads_changes(&self) -> bool {
        self.changed.is_some()
    }
}

fn path(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Template> {
    let template = decoder.template(node, key, Secrets::Refused)?;
    if let Some(text) = template.as_literal() {
        pattern::glob(text, node.span, decoder);
    }
    Some(template)
}

fn regex(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, key)?;
    pattern::regex(text, node.span, decoder);
    Some(text.to_owned())
}

fn file_count(node: &Node, _: &str, decoder: &mut Decoder) -> Option<FileCount> {
    let CountKeys { pattern, min, max } = CountKeys::from_node(node, decoder)?;
    let min = min.unwrap_or(u32::from(max.is_none()));
    if let Some(max) = max.filter(|max| *max < min) {
        let message = format!("`min` {min} is larger than `max` {max}");
        decoder.bad_value(node.span, message, "swap them".to_owned());
    }
    Some(FileCount { pattern, min, max })
}
