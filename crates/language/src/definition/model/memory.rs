//! What is remembered across runs: `memory` of the settings and of a specialist.

use std::time::Duration;

/// What the settings allow specialists to remember, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySettings {
    /// `enabled`: whether specialists are shown entries and can propose some.
    pub enabled: bool,
    /// `maxTokens`: maximum tokens of the entries in one prompt.
    pub max_tokens: u32,
    /// `maxEntries`: entries from which specialists propose no more.
    pub max_entries: u32,
    /// `archiveAfter`: age since the last passed check from which an entry that no person shared is archived.
    pub archive_after: Duration,
}

impl Default for MemorySettings {
    fn default() -> Self {
        MemorySettings {
            enabled: false,
            max_tokens: 1_200,
            max_entries: 2_000,
            archive_after: Duration::from_secs(90 * 24 * 3600),
        }
    }
}

/// `memory` of a specialist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryUse {
    /// `read`: the kinds of entries that it is shown before its first turn; none if empty.
    pub read: Vec<&'static str>,
    /// `propose`: whether it can propose entries.
    pub propose: bool,
}
