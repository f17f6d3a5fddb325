//! The tables of keys: what a table is, the macros that declare one, and what derives from all of them.
//!
//! One [`KeyTable`] describes one map, such as a step or `retry`. The decoders accept exactly the keys
//! of these tables, [`file_schema`] derives the JSON Schemas of `kb schema` from them, and
//! [`key_reference`] the pages in `docs/reference/generated`. Start at [`keys!`](keys), which declares
//! a table with the struct of its values and their decoder, and at [`DefinitionFile`].

mod choice_list;
pub(crate) mod choice_tables;
mod declare;
mod describe;
mod file;
mod json_schema;
mod key_type;
mod reach;
mod reference;
mod table;

pub(crate) use choice_list::Choice;
pub(in crate::definition) use choice_list::{choice, choice_table, choices, choices_of};
pub(in crate::definition) use declare::{higher, keys, sentence, settings};
pub use file::DefinitionFile;
pub use json_schema::file_schema;
pub use reference::key_reference;
pub use table::{KeyRule, KeyScope, KeySpec, KeyTable, KeyType, Named, Support};
pub(in crate::definition) use table::{count, joined, key, table};
