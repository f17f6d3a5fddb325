//! `file:`: files exist, contain a pattern, or were changed by the step.

use super::spec::CheckKind;
use crate::definition::check::pattern;
use crate::definition::keys;
use crate::definition::model::{Check, FileCount};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::Template;

pub(super) static FILE: CheckKind = CheckKind { key: "file", decode };

fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<Check> {
    if node.as_text().is_some() {
        let path = path(node, decoder)?;
        return Some(Check::File { path, min_count: 1, count: None, changed: None, absent: false });
    }
    let fields = decoder.fields(node, &keys::checks::FILE)?;
    let path = decoder.required(&fields, "path").and_then(|node| path(node, decoder));
    let min_count = fields.integer("minCount", decoder);
    let count = fields.get("count").and_then(|node| file_count(node, decoder));
    let changed = fields.boolean("changed", decoder);
    let absent = fields.boolean("absent", decoder);
    Some(Check::File {
        path: path?,
        min_count: min_count.unwrap_or(1),
        count,
        changed,
        absent: absent.unwrap_or(false),
    })
}

fn path(node: &Node, decoder: &mut Decoder) -> Option<Template> {
    let template = decoder.template(node, "path", Secrets::Refused)?;
    if let Some(text) = template.as_literal() {
        pattern::glob(text, node.span, decoder);
    }
    Some(template)
}

fn file_count(node: &Node, decoder: &mut Decoder) -> Option<FileCount> {
    let fields = decoder.fields(node, &keys::checks::COUNT)?;
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
