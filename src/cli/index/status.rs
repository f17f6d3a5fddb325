//! `kb index status`

use super::summary::summary;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::plain;
use crate::cli::terminal::Terminal;
use kb_base::value::counted;
use kb_service::service::{self, Environment};

/// Show what the index of the project files holds, and what changed since
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let status = service::index_status(environment)?;
    if args.json {
        terminal.json(&status)?;
        return Ok(Exit::Done);
    }
    terminal.out(&summary(&status))?;
    let changes = match (status.changed, status.gone) {
        (0, 0) => "it is up to date".to_owned(),
        (changed, gone) => format!(
            "the next question reads {} and forgets {}",
            counted(changed, "file"),
            counted(gone, "file")
        ),
    };
    terminal.note(&format!("{}: {changes}\n", plain(&status.database)))?;
    Ok(Exit::Done)
}
