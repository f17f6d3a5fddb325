//! The implementations of the tools, one file each. Their names, schemas and effects are in
//! [`kb_language::toolspec`].

mod code_files;
mod code_find;
mod code_outline;
mod declared;
mod delegate;
mod exchange_tools;
mod faq_tools;
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
mod memory_tools;
mod mind_outline;
mod mind_query;
mod output_read;
mod plugin;
mod shell_exec;
mod tool_process;

use super::context::Tool;
pub(super) use declared::{AbsentTool, DeclaredTool};
pub(super) use plugin::PluginTool;
use std::sync::Arc;

/// All implementations, in the order of the table of tools.
pub(super) fn all() -> Vec<Arc<dyn Tool>> {
    let files_and_processes: Vec<Arc<dyn Tool>> = vec![
        Arc::new(fs_read::tool()),
        Arc::new(fs_list::tool()),
        Arc::new(fs_search::tool()),
        Arc::new(fs_exists::tool()),
        Arc::new(code_outline::tool()),
        Arc::new(code_find::definition()),
        Arc::new(code_find::usages()),
        Arc::new(mind_query::MindQuery),
        Arc::new(mind_outline::tool()),
        Arc::new(fs_write::tool()),
        Arc::new(fs_edit::tool()),
        Arc::new(fs_delete::tool()),
        Arc::new(git_commit::GitCommit),
        Arc::new(shell_exec::ShellExec),
        Arc::new(http_request::HTTP_REQUEST),
        Arc::new(http_request::HTTP_FETCH),
    ];
    let exchange_and_results: Vec<Arc<dyn Tool>> = vec![
        Arc::new(exchange_tools::publish()),
        Arc::new(exchange_tools::subscribe()),
        Arc::new(exchange_tools::ack()),
        Arc::new(exchange_tools::unsubscribe()),
        Arc::new(exchange_tools::blackboard_write()),
        Arc::new(exchange_tools::blackboard_read()),
        Arc::new(delegate::Delegate),
        Arc::new(output_read::OUTPUT_READ),
        Arc::new(output_read::ARTIFACT_GET),
    ];
    let remembered = memory_tools::all().into_iter().chain(faq_tools::all());
    files_and_processes.into_iter().chain(remembered).chain(exchange_and_results).collect()
}
