//! Keys of `memory`, in the settings and of a specialist.

use super::choices::MEMORY_KIND_NAMES;
use super::table::KeyType::{Any, Boolean, Choice, Duration, Integer, ListOrOne, Map};
use super::table::{KeySpec, KeyTable, key, table};

pub(crate) static MEMORY_SETTINGS: KeyTable = table(
    "memorySettings",
    "`memory`",
    "What is remembered across runs.",
    &[MEMORY_SETTINGS_KEYS, AGENT_FILE_KEYS],
);

const MEMORY_SETTINGS_KEYS: &[KeySpec] = &[
    key("enabled", Boolean, "Whether specialists are shown entries and can propose some.")
        .default("false"),
    key("maxTokens", Integer(200, 8_000), "Maximum tokens of the entries in one prompt.")
        .default("1200"),
    key(
        "maxEntries",
        Integer(1, 100_000),
        "Number of entries from which specialists propose no more; people still can.",
    )
    .default("2000"),
    key(
        "archiveAfter",
        Duration,
        "Age since the last passed check from which an entry that no person shared is archived.",
    )
    .default("90d")
    .example("30d"),
];

pub(crate) static MEMORY_USE: KeyTable = table(
    "memoryUse",
    "`memory`",
    "How a specialist uses what is remembered across runs.",
    &[MEMORY_USE_KEYS, AGENT_FILE_KEYS],
);

/// `memory` of a specialist.
pub(super) const MEMORY_KEY: KeySpec =
    key("memory", Map(&MEMORY_USE), "How it uses what is remembered across runs.")
        .example("{read: [fact, pitfall], propose: true}");

const MEMORY_USE_KEYS: &[KeySpec] = &[
    key("enabled", Boolean, "The same as `read` with all kinds.").default("false"),
    key(
        "read",
        ListOrOne(&Choice(MEMORY_KIND_NAMES)),
        "Kinds of entries that it is shown before its first turn. It can also search them.",
    )
    .default("none")
    .example("[fact, pitfall]"),
    key("propose", Boolean, "Whether it can propose entries.").default("false"),
];

/// The form of agent files.
const AGENT_FILE_KEYS: &[KeySpec] = &[
    key("shortTerm", Any, "The conversation of an attempt; `context` limits it.")
        .example("{enabled: true}")
        .unused(),
    key("longTerm", Map(&LONG_TERM), "The form of agent files.").example("{enabled: true}"),
];

pub(crate) static LONG_TERM: KeyTable =
    table("longTermMemory", "`long_term`", "Memory in the form of agent files.", &[LONG_TERM_KEYS]);

const LONG_TERM_KEYS: &[KeySpec] = &[
    key("enabled", Boolean, "The same as `enabled` of `memory`.").default("false"),
    key("provider", Any, "A vector store. Entries are found by words.").example("chroma").unused(),
    key("collection", Any, "A collection of the store.").example("agent_memory").unused(),
    key("embeddingModel", Any, "A model for vectors.").example("text-embedding-3-small").unused(),
];
