//! `kb backup`

use super::exit::{CliResult, Exit};
use super::render::bytes;
use super::terminal::Terminal;
use kb_base::value::counted;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment};
use std::path::PathBuf;

/// Write the journal, its large values and the state of triggers to a file
///
/// The file is a consistent copy, also while runs execute. `--restore` creates the state folder of a
/// project from it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file to write; it must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Read the file in place of writing it; the project must have no journal
    #[arg(long)]
    restore: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let found = match args.restore {
        true => service::restore(&context, &args.file)?,
        false => service::back_up(&context, &args.file)?,
    };
    if args.json {
        terminal.json(&found)?;
        return Ok(Exit::Done);
    }
    let verb = if args.restore { "restored" } else { "saved" };
    terminal.out(&format!(
        "{verb} {} and {} of large values\n",
        counted(found.runs, "run"),
        bytes(found.blob_bytes)
    ))?;
    Ok(Exit::Done)
}
