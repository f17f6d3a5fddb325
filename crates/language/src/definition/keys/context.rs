//! The keys of `context` of a specialist.

use super::choice;
use super::table::KeyType::{Boolean, Integer, Map, Text};
use super::table::{KeySpec, KeyTable, key, table};
use crate::definition::model::ContextProfile;

pub(crate) static CONTEXT: KeyTable =
    table("context", "`context`", "Context of a specialist.", &[CONTEXT_KEYS]);

const CONTEXT_KEYS: &[KeySpec] = &[
    key("profile", choice::<ContextProfile>(), "How much of its conversation the model sees."),
    key("system", Text, "System prompt, or additional context next to a `role`.")
        .example("Answer in English."),
    key(
        "rag",
        Map(&RAG),
        "Parts of the project files with words of the task, in the first prompt.",
    )
    .example("{enabled: true}"),
];

pub(crate) static RAG: KeyTable = table(
    "rag",
    "`rag`",
    "Parts of the project files that are added to the first prompt.",
    &[RAG_KEYS],
);

const RAG_KEYS: &[KeySpec] = &[
    key("enabled", Boolean, "Whether parts are looked up.").example("false").default("true"),
    key(
        "scope",
        Text,
        "`code` or `docs`, a glob of paths, or words that are looked up beside the task.",
    )
    .example("docs"),
    key("maxChunks", Integer(1, 20), "Maximum number of parts.").default("5"),
];
