//! The tables of keys: every key of every definition file, with type, default and description.
//!
//! One [`KeyTable`] describes one map, such as a step or `retry`. The decoders accept exactly the keys
//! of these tables, [`file_schema`] derives the JSON Schemas of `kb schema` from them, and
//! [`key_reference`] the pages in `docs/reference/generated`. Start at [`KeyTable`] and
//! [`DefinitionFile`]; a new key is one line in the table of its map.

pub(crate) mod checks;
mod choice_list;
pub(crate) mod choice_tables;
pub(crate) mod coding_agent;
pub(crate) mod context;
mod declare;
mod describe;
mod file;
pub(crate) mod items;
mod json_schema;
mod key_type;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod playbook;
pub(crate) mod plugin;
mod reach;
mod reference;
pub(crate) mod specialist;
pub(crate) mod step;
pub(crate) mod step_parts;
mod table;
pub(crate) mod trigger;

pub(crate) use choice_list::Choice;
pub(in crate::definition) use choice_list::{choice, choice_table, choices, choices_of};
pub(in crate::definition) use declare::{higher, keys, sentence, settings};
pub use file::DefinitionFile;
pub use json_schema::file_schema;
pub use reference::key_reference;
pub use step::step_key_scope;
pub use table::{KeyRule, KeyScope, KeySpec, KeyTable, KeyType, Support};
pub(in crate::definition) use table::{count, joined, key, table};
