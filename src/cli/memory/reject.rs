//! `kb memory reject`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment};

/// Reject an entry that a specialist proposed; its sentence is not proposed again
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the entry, or the start of it
    #[arg(value_name = "ID")]
    id: String,
    /// Why, for its history
    #[arg(short = 'm', long, value_name = "TEXT")]
    reason: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let entry = service::reject_memory(environment, &args.id, args.reason)?;
    terminal.result(args.json, &entry, || format!("{}  rejected\n", entry.id))?;
    Ok(Exit::Done)
}
