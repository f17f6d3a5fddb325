use crate::cli::terminal::{GOOD, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service;

/// Write a new specialist to `.kb/specialists/ID.yml`
///
/// Never overwrites.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The new specialist's id
    id: String,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let path = service::new_specialist(&service::here()?, &args.id)?;
    terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
    terminal.err("next: write its role, and name its tools: nothing else may be called\n")?;
    Ok(Exit::Done)
}
