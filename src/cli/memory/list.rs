//! `kb memory list`

use super::parts;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment, MemoryState};

/// List what is remembered, newest changes first
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Only entries in this state: candidate, verified, shared, stale, conflicted, archived or forgotten
    #[arg(long, value_name = "STATE", value_parser = parts::state)]
    state: Vec<MemoryState>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let view = service::list_memory(environment, &args.state)?;
    if args.json {
        terminal.json(&view)?
    } else {
        parts::print(&view, "nothing is remembered; `kb memory add` adds a sentence", terminal)?
    }
    Ok(Exit::Done)
}
