//! Loads and checks definitions: playbooks, workflows, specialists, settings, scripts.
//!
//! Pure: no files, no environment, no clock. `keys` has the macros that declare the keys of maps with the types
//! and decoders of their values, `syntax` parses text into trees with positions and decodes them, `kind` and
//! `gate_check` contain one module per kind of step and check, `notify`, `script`, `settings` and `test_file` one part
//! of the files each, `check` one static rule per file, and `model` is the result that the other modules use. Start at [`load`], the only function that creates a [`Catalog`]. Definitions in a
//! catalog are fully checked. A file with errors is left out; the other files still load.

mod by_capability;
mod check;
mod delegate;
mod file_bytes;
mod gate_check;
mod keys;
mod kind;
mod load;
mod load_checks;
mod load_script;
mod load_tests;
mod load_tree;
mod load_value;
mod mcp;
pub mod model;
mod notify;
mod same_ids;
mod schema;
mod script;
mod settings;
mod step_texts;
mod syntax;
mod test_file;
mod trigger_links;

pub(crate) use by_capability::candidates;
pub use check::{is_interpreter, refuse_computed_code, refuse_options, value_as_code};
pub use delegate::{DELEGATES, delegate_files, delegate_id};
pub use file_bytes::FileBytes;
pub use gate_check::*;
pub use keys::{
    DefinitionFile, KeyRule, KeyScope, KeySpec, KeyTable, KeyType, Named, Support, file_schema,
    key_reference,
};
pub use kind::*;
pub use load::{FileRole, InputFile, load, load_with};
pub use load_checks::load_checks;
pub use load_script::load_script;
pub use load_tests::load_tests;
pub use load_tree::{Documents, Positioned, PositionedFile, PositionedValue, load_positioned};
pub use load_value::{EntrySpans, LoadedValue, load_value};
pub use mcp::{
    LOCK_PATH, McpLock, McpPin, PinnedServer, ToolChange, ToolDeclaration, is_server_name,
};
pub use model::*;
pub use notify::{NotifyEvent, NotifyHook, NotifyPlaybook, NotifyTarget, NotifyWebhook};
pub use schema::{Property, Schema, Violation};
pub use script::{AgentEvent, Script, ScriptCall, ScriptError, ScriptTurn, ScriptUsage};
pub use settings::*;
pub use step_texts::{StepTexts, content_digest};
pub use syntax::step_key_scope;
pub use test_file::{
    Expectations, Fault, FaultKind, FileExpectation, ModelFault, Stub, TestCase, TestFile,
    TestReply, TestScript, ToolStub,
};
pub use trigger_links::link_triggers;
