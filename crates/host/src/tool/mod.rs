//! Tool calls: the policy that permits them, and the tools themselves.
//!
//! Specialists and `tool` steps call tools through [`Toolbox::call`]: it checks the allow-list of the
//! caller, the settings and the JSON Schema of the arguments, executes the call and records it as an
//! [`kb_core::evidence::Invocation`]. A refused call is a result that the model sees. The catalog of
//! tools is [`kb_language::toolspec`]; `builtin` contains one file per implementation. Start reading at
//! `toolbox.rs`.

mod access_ahead;
mod agent_process;
mod builtin;
mod call;
mod call_desk;
mod confinement;
mod context;
mod delegates;
mod doubles;
mod entry_check;
mod entry_search;
mod implementation;
mod input_request;
mod kept_calls;
mod mcp_servers;
mod missing_access;
mod named_paths;
mod opened_paths;
mod output_store;
mod plugin_code;
mod policy;
mod printed_access;
mod probe;
mod process_launcher;
mod process_trace;
mod registry;
mod run_memory;
mod server;
mod toolbox;
mod toolbox_memory;
mod toolbox_variants;
mod watched_process;
mod without_project;
mod written_files;

pub use access_ahead::{lacked_paths, missing_paths};
pub use agent_process::{AgentEnd, AgentProcess, AgentStart};
pub use call::{Call, CallResult, Caller};
pub(crate) use confinement::explained;
pub(crate) use delegates::{DelegateEnd, DelegatedTask, Delegates};
pub use doubles::{FailingCall, ToolDoubles};
pub use entry_check::check_entry;
pub use entry_search::{FoundEntries, search_entries};
pub use implementation::ToolImplementation;
pub use input_request::{InputAnswers, InputRequest};
pub use kb_mcpclient::ElicitationReply as InputReply;
pub use kept_calls::{KeptCall, KeptCalls};
pub use mcp_servers::{McpServers, ServerSecrets, connect};
pub(crate) use missing_access::{MissingAccess, Ran};
pub use output_store::OutputStore;
pub use policy::Approvals;
pub use process_launcher::{ProcessLauncher, sandbox_level};
pub use process_trace::ProcessTrace;
pub use run_memory::{MemoryOrigin, RunMemory};
pub use server::{ServerPlace, ToolServer};
pub use toolbox::{PresentSettings, Toolbox, ToolboxParts};
pub(crate) use watched_process::{
    Origin, Records, WatchedProcess, WatchedStart, protected_failure,
};
