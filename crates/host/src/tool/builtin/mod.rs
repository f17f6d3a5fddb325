//! The implementations of the tools, one file each. Their names, schemas and effects are in
//! [`kb_language::toolspec`].

mod file_tool;
mod fs_delete;
mod fs_edit;
mod fs_exists;
mod fs_list;
mod fs_read;
mod fs_search;
mod fs_write;
mod git_commit;
mod http_request;
mod output_read;
mod plugin;
mod shell_exec;
mod tool_process;

use super::context::Tool;
pub(super) use plugin::PluginTool;

/// All implementations, in the order of the table of tools.
pub(super) fn all() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(fs_read::tool()),
        Box::new(fs_list::tool()),
        Box::new(fs_search::tool()),
        Box::new(fs_exists::tool()),
        Box::new(fs_write::tool()),
        Box::new(fs_edit::tool()),
        Box::new(fs_delete::tool()),
        Box::new(git_commit::GitCommit),
        Box::new(shell_exec::ShellExec),
        Box::new(http_request::HTTP_REQUEST),
        Box::new(http_request::HTTP_FETCH),
        Box::new(output_read::OUTPUT_READ),
        Box::new(output_read::ARTIFACT_GET),
    ]
}
