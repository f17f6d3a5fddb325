//! `kb mcp tools`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::foreign_text;
use crate::cli::render::table::plain;
use crate::cli::runtime::{Workers, block_on};
use crate::cli::terminal::{DIM, TITLE, Terminal, paint};
use kb_service::service::{self, Environment, Project, ServerTool};

/// Start an MCP server and list the tools that it declares
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the server
    server: String,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let tools = block_on(Workers::One, service::server_tools(&project, &args.server))??;
    terminal.result(args.json, &tools, || text(&tools))?;
    Ok(Exit::Done)
}

/// Each tool with its description, which becomes part of prompts.
pub(super) fn text(tools: &[ServerTool]) -> String {
    if tools.is_empty() {
        return "the server declares no tools\n".to_owned();
    }
    let one = |tool: &ServerTool| {
        let digest = &tool.sha256[..12.min(tool.sha256.len())];
        let head = paint(TITLE, &plain(&tool.tool));
        let description = foreign_text("    │ ", &tool.description);
        format!("{head} {}\n{description}", paint(DIM, digest))
    };
    tools.iter().map(one).collect()
}
