//! The catalog of tools: names, levels, schemas and effects. The table of built-in tools is the only code that
//! knows which of them exist.
//!
//! Everything else derives from the entries of a [`ToolCatalog`]: allow-lists and `tools.security`, the policy, the
//! workspace lock, verdicts, the checks of `tool` steps and `docs/reference/generated/tools.md`. The
//! implementations are in `tool::builtin`. Pure. Start reading at [`ToolSpec`]; one file per family
//! contains the entries.

mod agent_kinds;
mod catalog;
mod code;
mod exchange;
mod faq;
mod git;
mod http;
mod memory;
mod mind;
mod name_glob;
mod names;
mod not_yet;
mod output;
mod plugin;
mod read_files;
mod shell;
mod spec;
mod table;
mod write_files;

pub use agent_kinds::NeededTools;
pub use catalog::{ToolCatalog, built_in};
pub use exchange::DELEGATE;
pub use mind::{COLLECTIONS, RETRIEVER};
pub use names::ToolMatch;
pub use plugin::{NamespaceProblem, PLUGINS, ToolNamespace};
pub use spec::{EvidenceTier, InputCheck, ResultPart, Text, ToolLevel, ToolSpec};
pub use table::{
    ARTIFACT_READER, COMMAND_RUNNER, FILE_DELETER, FILE_READER, FILE_WRITER, HTTP_REQUEST,
    MEMORY_READER, MEMORY_WRITER, OUTPUT_READER,
};
