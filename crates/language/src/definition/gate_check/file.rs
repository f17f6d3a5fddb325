//! `file:`: files exist, contain a pattern, or were changed by the step.

use super::spec::CheckKind;
use crate::definition::check::pattern;
use crate::definition::keys::KeyType::{self, Boolean, Integer, Map, OneOf, Text};
use crate::definition::keys::{KeySpec, KeyTable, key, table};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};

/// A `file` check: files that must exist, or must not.
#[derive(Debug, Clone)]
pub struct FileCheck {
    /// Path or glob inside the workspace; placeholders allowed.
    pub path: Template,
    /// Minimum number of matching files. Default: 1.
    pub min_count: u32,
    /// A pattern that the matching files must contain.
    pub count: Option<FileCount>,
    /// Whether the evidence must show that this step changed at least one matching file.
    pub changed: Option<bool>,
    /// Whether the path must not exist.
    pub absent: bool,
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

static FILE: KeyTable =
    table("file", "a `file` check", "Files that must exist or must not exist.", &[FILE_KEYS]);

const FILE_KEYS: &[KeySpec] = &[
    key("path", KeyType::Template, "Path or glob inside the workspace.")
        .required()
        .example("\"src/**/*.rs\""),
    key("minCount", Integer(0, u32::MAX), "Minimum number of matching files.").default("1"),
    key("count", Map(&COUNT), "A pattern that the matching files contain together.")
        .example("{pattern: \"pub fn\", min: 4}"),
    key(
        "changed",
        Boolean,
        "Whether the evidence must show that the step changed a matching file.",
    ),
    key("absent", Boolean, "Whether the path must not exist.").default("false"),
];

static COUNT: KeyTable =
    table("count", "`count`", "How often a pattern occurs in the matching files.", &[COUNT_KEYS]);

const COUNT_KEYS: &[KeySpec] = &[
    key("pattern", Text, "Regular expression.").required().example("\"pub fn\""),
    key("min", Integer(0, u32::MAX), "Minimum number of matches.").default("1, or 0 with `max`"),
    key("max", Integer(0, u32::MAX), "Maximum number of matches."),
];

impl CheckKind for FileCheck {
    const NAME: &'static str = "file";
    const KEYS: &'static [KeySpec] = &[key(
        "file",
        OneOf(const { &[KeyType::Template, Map(&FILE)] }),
        "Files exist, with a path or glob.",
    )
    .example("\"src/**/*.rs\"")];

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<FileCheck> {
        if node.as_text().is_some() {
            let path = path(node, decoder)?;
            return Some(FileCheck {
                path,
                min_count: 1,
                count: None,
                changed: None,
                absent: false,
            });
        }
        let fields = decoder.fields(node, &FILE)?;
        let path = decoder.required(&fields, "path").and_then(|node| path(node, decoder));
        let min_count = fields.integer("minCount", decoder);
        let count = fields.get("count").and_then(|node| file_count(node, decoder));
        let changed = fields.boolean("changed", decoder);
        let absent = fields.boolean("absent", decoder);
        Some(FileCheck {
            path: path?,
            min_count: min_count.unwrap_or(1),
            count,
            changed,
            absent: absent.unwrap_or(false),
        })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        vec![self.path.references().collect()]
    }

    fn reads_changes(&self) -> bool {
        self.changed.is_some()
    }
}

fn path(node: &Node, decoder: &mut Decoder) -> Option<Template> {
    let template = decoder.template(node, "path", Secrets::Refused)?;
    if let Some(text) = template.as_literal() {
        pattern::glob(text, node.span, decoder);
    }
    Some(template)
}

fn file_count(node: &Node, decoder: &mut Decoder) -> Option<FileCount> {
    let fields = decoder.fields(node, &COUNT)?;
    let pattern_node = decoder.required(&fields, "pattern")?;
    let text = decoder.text(pattern_node, "pattern")?;
    pattern::regex(text, pattern_node.span, decoder);
    let min = fields.integer("min", decoder);
    let max = fields.integer("max", decoder);
    let min = min.unwrap_or(u32::from(max.is_none()));
    if let Some(max) = max.filter(|max| *max < min) {
        let message = format!("`min` {min} is larger than `max` {max}");
        decoder.bad_value(fields.span, message, "swap them".to_owned());
    }
    Some(FileCount { pattern: text.to_owned(), min, max })
}
