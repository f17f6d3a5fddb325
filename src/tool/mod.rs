//! Tools: one trait, one registry, one policy, one path guard; one file a tool.
//!
//! A call goes through [`Toolbox::call`] whoever makes it: a specialist, a `tool:` step, a script.
//! There the caller's whitelist and the settings are asked, the arguments are held to the tool's
//! JSON Schema, and what was done is recorded as an [`crate::evidence::Invocation`]. Every path of
//! every tool goes through [`crate::workspace::Workspace`], which the kernel resolves under folders that are held
//! open. Nothing here trusts a model: a refusal is a result that it sees, never a wider policy.

mod call;
mod file_tool;
mod fs_delete;
mod fs_edit;
mod fs_exists;
mod fs_list;
mod fs_read;
mod fs_search;
mod fs_write;
mod http_request;
mod output_read;
mod output_store;
mod policy;
mod process_trace;
mod registry;
mod shell_exec;
mod spec;
mod toolbox;

pub use crate::definition::ToolLevel;
pub use call::{Call, CallResult, Caller};
pub use output_store::OutputStore;
pub use policy::Approvals;
pub use process_trace::ProcessTrace;
pub use spec::{Tool, ToolDescription, ToolSpec};
pub use toolbox::{Toolbox, ToolboxParts, sandbox_level};
