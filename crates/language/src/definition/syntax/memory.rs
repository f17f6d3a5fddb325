//! Decodes `memory`, in the settings and of a specialist.

use super::{Decoder, Fields, Node};
use crate::definition::keys::choices::MEMORY_KIND;
use crate::definition::keys::memory::{LONG_TERM, MEMORY_SETTINGS, MEMORY_USE};
use crate::definition::model::{MemorySettings, NotYet, Settings, Specialist};
use crate::toolspec::{MEMORY_READER, MEMORY_WRITER};

/// The kinds of entries.
const KINDS: [&str; 5] = ["fact", "procedure", "pitfall", "decision", "preference"];

/// Decodes `memory` of the settings.
pub(crate) fn memory_settings(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &MEMORY_SETTINGS) else { return };
    let usual = MemorySettings::default();
    settings.memory = MemorySettings {
        enabled: enabled(&fields, &mut settings.not_yet, decoder),
        max_tokens: fields.integer("maxTokens", decoder).unwrap_or(usual.max_tokens),
        max_entries: fields.integer("maxEntries", decoder).unwrap_or(usual.max_entries),
        archive_after: fields.duration("archiveAfter", decoder).unwrap_or(usual.archive_after),
    };
}

/// Decodes `memory` of a specialist. What it reads it can also search, and what it may propose it has a tool for.
pub(crate) fn memory_use(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &MEMORY_USE) else { return };
    if enabled(&fields, &mut found.not_yet, decoder) {
        found.memory.read = KINDS.to_vec();
    }
    if let Some(node) = fields.get("read") {
        let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
        let kinds = items.iter().filter_map(|item| decoder.one_of(item, "read", MEMORY_KIND));
        found.memory.read = kinds.collect();
    }
    found.memory.propose = fields.boolean("propose", decoder).unwrap_or(false);
    let named =
        [(MEMORY_READER, !found.memory.read.is_empty()), (MEMORY_WRITER, found.memory.propose)];
    for (name, _) in named.into_iter().filter(|(_, wanted)| *wanted) {
        let spec = decoder.tools.find(name).cloned();
        found.tools.extend(spec.filter(|spec| !found.tools.contains(spec)));
    }
}

/// Whether `enabled`, or that of `long_term`, is set.
fn enabled(fields: &Fields<'_>, not_yet: &mut Vec<NotYet>, decoder: &mut Decoder) -> bool {
    let own = fields.boolean("enabled", decoder).unwrap_or(false);
    decoder.unsupported_keys(fields, not_yet);
    let inner = fields.get("longTerm").and_then(|node| decoder.fields(node, &LONG_TERM));
    let Some(inner) = inner else { return own };
    decoder.unsupported_keys(&inner, not_yet);
    inner.boolean("enabled", decoder).unwrap_or(false) || own
}
