use crate::cli::driving::{Showing, drive};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service;
use crate::service::runs::{self, Cancelled};

/// Stop a run for good, also from another terminal
///
/// A run with a holder is told and ends by itself; one without is ended here.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A run's id, the first letters of one, or @last
    run: String,
    #[command(flatten)]
    showing: Showing,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let place = service::place_here()?;
    runtime::block_on(Workers::All, async {
        match runs::cancel(place, &args.run, "kb run cancel")? {
            Cancelled::Told(run) => {
                args.showing.told(&format!("run {run} was told to stop\n"), terminal)?;
            }
            Cancelled::AlreadyEnded(run, status) => {
                args.showing.told(&format!("run {run} has {status} already\n"), terminal)?;
            }
            Cancelled::Ready(prepared) => {
                // That the run ends as cancelled is what was asked for.
                drive(*prepared, args.showing, "kb", terminal).await?;
            }
        }
        Ok(Exit::Done)
    })?
}
