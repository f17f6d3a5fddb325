//! Keys of `memory`, in the settings and of a specialist.

use super::choice_tables::MEMORY_KIND_NAMES;
use super::table::KeyType::{Any, Boolean, Choice, ListOrOne, Map};
use super::table::{KeySpec, KeyTable, key, table};

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
pub(crate) const AGENT_FILE_KEYS: &[KeySpec] = &[
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
