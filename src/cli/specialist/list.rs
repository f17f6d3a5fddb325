use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service;

/// List the specialists and agent profiles of this project
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// One JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let rows = service::list_specialists(&service::here()?);
    if args.json {
        terminal.json(&rows)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["ID", "TIER", "TOOLS", "NAME"]);
    for row in &rows {
        table.row([&row.id, row.tier, &row.tools.join(", "), &row.name]);
    }
    terminal.out(&table.text())?;
    if rows.is_empty() {
        terminal.err("no specialists yet; `kb specialist new ID` makes one\n")?;
    }
    Ok(Exit::Done)
}
