//! `kb index rebuild`

use super::summary::summary;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment};

/// Make the index of the project files again
///
/// A question brings the index to the files of now by itself, so this is seldom needed. Safe while runs execute.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let status = service::rebuild_index(environment)?;
    if args.json {
        terminal.json(&status)?
    } else {
        terminal.out(&summary(&status))?
    }
    Ok(Exit::Done)
}
