//! `memory`: what is remembered across runs.

use crate::definition::keys::KeyType::Integer;
use crate::definition::keys::settings;
use crate::definition::syntax::memory::AgentFileMemory;
use crate::definition::syntax::{Decoder, Node};
use std::time::Duration;

settings! {
    /// What is remembered across runs.
    pub struct MemorySettings(Debug, Clone, Copy, PartialEq, Eq): MEMORY_SETTINGS = ("memorySettings", "`memory`", also AgentFileMemory::KEYS) {
        /// Whether specialists are shown entries and can propose some.
        [both] enabled: bool = "enabled", default("false");
        /// Maximum tokens of the entries in one prompt.
        [own] max_tokens: u32 = "maxTokens" as Integer(200, 8_000), default("1200");
        /// Number of entries from which specialists propose no more; people still can.
        [own] max_entries: u32 = "maxEntries" as Integer(1, 100_000), default("2000");
        /// Age since the last passed check from which an entry that no person shared is archived.
        [own] archive_after: Duration = "archiveAfter", default("90d"), example("30d");
    }
}

pub(super) fn memory(node: &Node, _: &str, decoder: &mut Decoder) -> MemorySettings {
    let Some(fields) = decoder.fields(node, &MEMORY_SETTINGS) else { return Default::default() };
    let mut found = MemorySettings::of(&fields, decoder).unwrap_or_default();
    found.enabled |=
        AgentFileMemory::part(&fields, decoder).is_some_and(|own| own.long_term.enabled);
    found
}
