//! `kb memory forget`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment};

/// Forget an entry and remove its file; its sentence is not proposed again
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the entry, or the start of it
    #[arg(value_name = "ID")]
    id: String,
    /// Delete its texts from the database too; nothing keeps it from being proposed again then
    #[arg(long)]
    purge: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let forgotten = service::forget_memory(environment, &args.id, args.purge)?;
    let what = if forgotten.purged { "deleted" } else { "forgotten" };
    terminal.result(args.json, &forgotten, || format!("{}  {what}\n", forgotten.id))?;
    if !args.json && forgotten.purged {
        terminal.note(
            "journals of runs and earlier commits of the project can still contain the text\n",
        )?;
    }
    Ok(Exit::Done)
}
