//! `kb memory show`

use super::parts;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment};

/// Show an entry with its origin, its checks and what happened to it
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the entry, or the start of it
    #[arg(value_name = "ID")]
    id: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let view = service::show_memory(environment, &args.id)?;
    if args.json {
        terminal.json(&view)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::bare();
    for event in &view.events {
        let at = event.at.rfc3339();
        let at = at.get(..16).unwrap_or(&at).replace('T', " ");
        let note = event.note.as_deref().unwrap_or_default();
        table.row([at.as_str(), &event.what, &event.by, note]);
    }
    terminal.out(&format!("{}\n{}", parts::sheet(&view.entry, &view.conflicts), table.text()))?;
    Ok(Exit::Done)
}
