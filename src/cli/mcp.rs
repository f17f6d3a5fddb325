//! `kb mcp`

use super::exit::{CliResult, Exit};
use super::runtime::{self, Workers};
use kb_service::service::Environment;
use kb_service::service::runs::ProjectContext;

/// Offer playbooks and runs to other agents by the Model Context Protocol
#[derive(Debug, clap::Subcommand)]
pub(super) enum McpCommand {
    Serve(ServeArgs),
}

/// Serve the project to an MCP client on standard input and output
///
/// The client starts this command. Its tools list and show playbooks, start runs, and read and cancel them; none
/// approves or answers. A run continues after the client has left.
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {}

pub(super) fn run(command: McpCommand, environment: &Environment) -> CliResult {
    let McpCommand::Serve(ServeArgs {}) = command;
    // A client shows nothing of a server that answers errors only.
    ProjectContext::find(environment)?;
    runtime::block_on(Workers::All, kb_mcp::serve(environment.clone()))??;
    Ok(Exit::Done)
}
