//! The table of built-in tools: the only code that knows which of them exist, their names and their
//! effects. [`ToolSpec::plugin`] makes the entry of a tool that a project defines.
//!
//! Everything else derives from it: allow-lists and `tools.security` ([`allowed_by`],
//! [`secured_by`]), the policy, the workspace lock, the checks of `tool` steps and
//! `docs/reference/generated/tools.md`. The implementations are in `tool::builtin`. Pure. Start
//! reading at [`ToolSpec`]; one file per family contains the entries.

mod git;
mod http;
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

pub use names::{ToolMatch, allowed_by, allowed_by_settings, covers, permits, secured_by};
pub use plugin::{PLUGIN_PREFIX, assumed, plugin_id};
pub use spec::{EvidenceTier, InputCheck, ResultPart, ToolLevel, ToolSpec};
pub use table::{ARTIFACT_READER, FILE_READER, HTTP_REQUEST, OUTPUT_READER, find, names, tools};
