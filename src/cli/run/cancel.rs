use crate::cli::driving::{DisplayArgs, drive};
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
    display: DisplayArgs,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let context = service::context_here()?;
    runtime::block_on(Workers::All, async {
        match runs::cancel(context, &args.run, "kb run cancel")? {
            Cancelled::Delivered(run) => {
                args.display.report(&format!("run {run} was told to stop\n"), terminal)?;
            }
            Cancelled::AlreadyEnded(run, status) => {
                args.display.report(&format!("run {run} has {status} already\n"), terminal)?;
            }
            Cancelled::Ready(prepared) => {
                // That the run ends as cancelled is what was asked for.
                drive(*prepared, args.display, "kb", terminal).await?;
            }
        }
        Ok(Exit::Done)
    })?
}
