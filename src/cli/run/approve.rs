use crate::cli::driving::{Showing, drive};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service;
use crate::service::runs::{self, Answered};

/// Let what waits for a person go on, or refuse it
///
/// A run with a holder is told; one without goes on here.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A run's id, the first letters of one, or @last
    run: String,
    /// The step or item that waits; all that wait if there is none
    step: Option<String>,
    /// Refuse: the step fails
    #[arg(long)]
    deny: bool,
    #[command(flatten)]
    showing: Showing,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let place = service::place_here()?;
    let by = "kb run approve";
    runtime::block_on(Workers::All, async {
        match runs::answer(place, &args.run, args.step.as_deref(), !args.deny, by)? {
            Answered::Told(run) => {
                args.showing.told(&format!("run {run} was told\n"), terminal)?;
                Ok(Exit::Done)
            }
            Answered::Ready(prepared) => drive(*prepared, args.showing, "kb", terminal).await,
        }
    })?
}
