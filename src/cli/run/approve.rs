use crate::cli::driving::{DisplayArgs, drive};
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
    display: DisplayArgs,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let context = service::context_here()?;
    let by = "kb run approve";
    runtime::block_on(Workers::All, async {
        match runs::answer(context, &args.run, args.step.as_deref(), !args.deny, by)? {
            Answered::Delivered(run) => {
                args.display.report(&format!("run {run} was told\n"), terminal)?;
                Ok(Exit::Done)
            }
            Answered::Ready(prepared) => drive(*prepared, args.display, "kb", terminal).await,
        }
    })?
}
