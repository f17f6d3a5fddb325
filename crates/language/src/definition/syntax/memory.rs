//! Decodes `memory`, in the settings and of a specialist.

use super::{Decoder, Node, Unread};
use crate::definition::keys::KeyType::{Choice, ListOrOne};
use crate::definition::keys::{choice_table, keys};
use crate::definition::model::Specialist;
use crate::toolspec::{MEMORY_READER, MEMORY_WRITER};

keys! {
    /// How a specialist uses what is remembered across runs.
    struct MemoryKeys(): MEMORY_USE = ("memoryUse", "`memory`") {
        /// The same as `read` with all kinds.
        enabled: bool = "enabled", default("false");
        /// Kinds of entries that it is shown before its first turn. It can also search them.
        read: Option<Vec<&'static str>> = "read" as ListOrOne(&Choice(MEMORY_KIND_NAMES)) => kinds,
            default("none"), example("[fact, pitfall]");
        /// Whether it can propose entries.
        propose: bool = "propose", default("false");
    } with {
        /// The form of agent files.
        agent_file: AgentFileMemory,
    }

    /// The form of agent files.
    pub(crate) struct AgentFileMemory() {
        /// The conversation of an attempt; `context` limits it.
        _short_term: Unread = "shortTerm", example("{enabled: true}"), unused;
        /// The form of agent files.
        long_term: LongTermMemory = "longTerm", example("{enabled: true}");
    }

    /// Memory in the form of agent files.
    pub(crate) struct LongTermMemory(): LONG_TERM = ("longTermMemory", "`long_term`") {
        /// The same as `enabled` of `memory`.
        enabled: bool = "enabled", default("false");
        /// A vector store. `knowledge.embeddings` of the settings names what makes vectors.
        _provider: Unread = "provider", example("chroma"), unused;
        /// A collection of the store.
        _collection: Unread = "collection", example("agent_memory"), unused;
        /// A model for vectors.
        _embedding_model: Unread = "embeddingModel", example("text-embedding-3-small"), unused;
    }
}

choice_table! {
    /// `read` of `memory`. Agent files have further names.
    MEMORY_KIND, MEMORY_KIND_NAMES: &'static str = {
        "fact" => "fact",
        "procedure" => "procedure",
        "pitfall" => "pitfall",
        "decision" => "decision",
        "preference" => "preference",
        "skill" => "procedure",
        "observation" => "fact",
        "mistake" => "pitfall",
    }
}

/// The kinds of entries.
const KINDS: [&str; 5] = ["fact", "procedure", "pitfall", "decision", "preference"];

/// Decodes `memory` of a specialist. What it reads it can also search, and what it may propose it has a tool for.
pub(crate) fn memory_use(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(own) = MemoryKeys::from_node(node, decoder) else { return };
    if own.agent_file.long_term.enabled || own.enabled {
        found.memory.read = KINDS.to_vec();
    }
    if let Some(read) = own.read {
        found.memory.read = read;
    }
    found.memory.propose = own.propose;
    let named =
        [(MEMORY_READER, !found.memory.read.is_empty()), (MEMORY_WRITER, found.memory.propose)];
    for (name, _) in named.into_iter().filter(|(_, wanted)| *wanted) {
        let spec = decoder.tools.find(name).cloned();
        found.tools.extend(spec.filter(|spec| !found.tools.contains(spec)));
    }
}

fn kinds(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Vec<&'static str>> {
    let items = node.as_seq().unwrap_or(std::slice::from_ref(node)).iter();
    Some(items.filter_map(|item| decoder.one_of(item, key, MEMORY_KIND)).collect())
}
