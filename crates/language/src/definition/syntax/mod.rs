//! Parsers and decoders: from the bytes of a file to typed values.
//!
//! [`yaml`] builds a [`Node`] tree with the position of every key and value. The decoders walk the
//! tree and collect every problem instead of stopping at the first. [`Decoder`] is the entry point
//! for single values, `playbook`, `specialist`, `settings` and `script` for whole files.

mod allow_list;
mod cache;
pub(super) mod coding_agent;
mod decoder;
pub(super) mod environment;
mod fields;
mod file_text;
pub(super) mod for_each;
mod front_matter;
pub(super) mod hooks;
mod key_value;
mod locks;
pub(super) mod mcp;
pub(super) mod memory;
mod model_choice;
mod node;
pub(super) mod policies;
pub(super) mod repeat;
mod scalar;
mod schema_version;
mod singleton;
mod syntax_error;
mod templates;
mod tool_names;
pub(super) mod tool_security;
pub(super) mod trigger;
mod trigger_schedule;
mod trigger_values;
mod unsupported;
mod usual_key;
mod usual_mistake;
mod verify;
mod yaml;

pub(super) mod agent;
pub(super) mod outline;
pub(super) mod params;
pub(super) mod playbook;
pub(super) mod plugin;
pub(super) mod profile;
pub(super) mod specialist;
mod specialist_parts;
pub(super) mod step;
pub(super) mod step_keys;
pub(super) mod step_output;
mod step_sandbox;

pub(super) use decoder::Decoder;
pub(super) use fields::Fields;
pub(super) use file_text::{FileText, read_text};
pub(super) use front_matter::{FrontMatterError, split_front_matter};
pub(super) use key_value::{KeyValue, Unread};
pub(super) use node::{Key, Node, Scalar, Value};
pub(super) use scalar::{Number, ScalarKind};
pub use step_keys::step_key_scope;
pub(super) use templates::{SECRET_POSITIONS, Secrets};
pub(super) use yaml::{read_documents, read_yaml};
