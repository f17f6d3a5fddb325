//! `kb memory export`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment};

/// Print all entries with their history as a JSON list, also archived and forgotten ones
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The format is always JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(_: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    terminal.json(&service::export_memory(environment)?)?;
    Ok(Exit::Done)
}
