//! `kb mcp call`

use crate::cli::exit::CliResult;
use crate::cli::plugin::{called, input_of};
use crate::cli::runtime::{Workers, block_on};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment, Project};

/// Call a pinned tool of an MCP server without a run
///
/// Starts the server in the sandbox and checks the result. Exits with 1 if the call fails.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the tool: `mcp:SERVER:TOOL`
    tool: String,
    /// Arguments as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let input = input_of(&args.input)?;
    let call = block_on(Workers::One, service::call_server(&project, &args.tool, input))??;
    called(&call, args.json, terminal)
}
