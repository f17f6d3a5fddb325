//! `kb specialist new`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::{GOOD, Terminal, paint};
use crate::service::{self, Environment, Project};

/// Create a specialist in `.kb/specialists/ID.yml`
///
/// An existing file is not overwritten.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the new specialist
    id: String,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let path = service::new_specialist(&Project::find(environment)?, &args.id)?;
    terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
    terminal.note("next: write its role and list its tools; it can call no other tools\n")?;
    Ok(Exit::Done)
}
