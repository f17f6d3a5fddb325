//! Decodes `memory`, in the settings and of a specialist.

use super::{Decoder, Fields, Node};
use crate::definition::keys::choice_tables::MEMORY_KIND;
use crate::definition::keys::memory::{LONG_TERM, MEMORY_USE};
use crate::definition::model::Specialist;
use crate::toolspec::{MEMORY_READER, MEMORY_WRITER};

/// The kinds of entries.
const KINDS: [&str; 5] = ["fact", "procedure", "pitfall", "decision", "preference"];

/// Decodes `memory` of a specialist. What it reads it can also search, and what it may propose it has a tool for.
pub(crate) fn memory_use(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &MEMORY_USE) else { return };
    decoder.unsupported(&fields);
    let enabled = fields.boolean("enabled", decoder).unwrap_or(false);
    if long_term(&fields, decoder) || enabled {
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

/// Whether `longTerm` of `memory` is enabled.
pub(crate) fn long_term(fields: &Fields<'_>, decoder: &mut Decoder) -> bool {
    let inner = fields.get("longTerm").and_then(|node| decoder.fields(node, &LONG_TERM));
    inner.is_some_and(|inner| {
        decoder.unsupported(&inner);
        inner.boolean("enabled", decoder).unwrap_or(false)
    })
}
