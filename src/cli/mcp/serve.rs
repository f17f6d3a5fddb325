//! `kb mcp serve`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::runtime::{self, Workers};
use kb_service::service::Environment;
use kb_service::service::runs::ProjectContext;

/// Serve the project to an MCP client on standard input and output
///
/// The client starts this command. Its tools list and show playbooks, start runs, and read and cancel them; none
/// approves or answers. A run continues after the client has left.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(super) fn run(Args {}: Args, environment: &Environment) -> CliResult {
    // A client shows nothing of a server that answers errors only.
    ProjectContext::find(environment)?;
    runtime::block_on(Workers::All, kb_mcp::serve(environment.clone()))??;
    Ok(Exit::Done)
}
