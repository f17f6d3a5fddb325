//! `kb memory approve`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment};

/// Share an entry: write it to `.kb/memory`, for everyone who has the project
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
    let approved = service::approve_memory(environment, &args.id)?;
    if args.json {
        terminal.json(&approved)?;
        return Ok(Exit::Done);
    }
    let file = approved.file.as_deref().unwrap_or_default();
    terminal.out(&format!("{}  shared in {file}\n", approved.entry.id))?;
    terminal.note("commit the file to share it with others\n")?;
    Ok(Exit::Done)
}
