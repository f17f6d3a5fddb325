//! `kb mcp pin`

use super::diff;
use super::tools;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::runtime::{Workers, block_on};
use crate::cli::terminal::Terminal;
use kb_base::value::counted;
use kb_service::service::{self, Environment, Pinned, Project};

/// Start an MCP server and pin the tools that it declares in `.kb/mcp.lock`
///
/// Runs use the pinned declarations: names, descriptions, schemas and annotations. A server that declares others is not
/// called.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the server
    server: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let pinned = block_on(Workers::One, service::pin_server(&project, &args.server))??;
    terminal.result(args.json, &pinned, || text(&pinned))?;
    Ok(Exit::Done)
}

fn text(pinned: &Pinned) -> String {
    let count = counted(pinned.tools.len(), "tool");
    let (name, lock) = (&pinned.name, ".kb/mcp.lock");
    if !pinned.was_pinned {
        let tools = tools::text(&pinned.tools);
        return format!("{tools}pinned {count} of `{name}` in `{lock}`\n");
    }
    let differences = diff::text(&pinned.differences);
    format!("{differences}pinned {count} of `{name}` in `{lock}`\n")
}
