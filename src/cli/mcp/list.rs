//! `kb mcp list`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment, Project, ServerView};

/// List the MCP servers of the project and whether their tools are pinned
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    project.require_valid_settings()?;
    let rows = service::list_servers(&project);
    terminal.result(args.json, &rows, || table(&rows))?;
    Ok(Exit::Done)
}

fn table(rows: &[ServerView]) -> String {
    if rows.is_empty() {
        return "no MCP servers; define one below `mcp.servers` in the settings\n".to_owned();
    }
    let mut table = Table::new(["SERVER", "TOOLS", "PIN", "COMMAND OR URL", "DEFINED IN"])
        .shorten("COMMAND OR URL");
    for row in rows {
        let tools = row.tools.to_string();
        let command = plain(&row.url.clone().unwrap_or_else(|| row.command.join(" ")));
        table.row([&plain(&row.name), &tools, row.pin.as_str(), &command, &plain(&row.path)]);
    }
    table.text()
}
