//! `kb memory review`

use super::parts;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment};

/// List what waits for a person: entries that are not shared, stale or contradictory
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let view = service::review_memory(environment)?;
    if args.json {
        terminal.json(&view)?;
        return Ok(Exit::Done);
    }
    parts::print(&view, "nothing waits for a decision", terminal)?;
    if !view.entries.is_empty() {
        terminal.note(
            "`kb memory show ID` shows where an entry comes from; `kb memory approve ID` shares it in `.kb/memory`, \
             `kb memory reject ID` forgets it\n",
        )?;
    }
    Ok(Exit::Done)
}
