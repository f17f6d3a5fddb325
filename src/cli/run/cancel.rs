//! `kb run cancel`

use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_service::service::Environment;
use kb_service::service::runs::{self, Cancelled, ProjectContext};

/// Cancel a run
///
/// If another process drives the run, it receives the request; otherwise the run is ended here.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    run: String,
    #[command(flatten)]
    display: DisplayArgs,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    runtime::block_on(Workers::All, async {
        match runs::cancel(context, &args.run, "kb run cancel")? {
            Cancelled::Delivered(run) => {
                args.display.report(&format!("the request was sent to run {run}\n"), terminal)?;
            }
            Cancelled::AlreadyEnded(run, status) => {
                let (verb, state) = status.words();
                let text = format!("run {run} {verb} already {state}\n");
                args.display.report(&text, terminal)?;
            }
            Cancelled::Ready(prepared) => {
                // A cancelled run is the success of this command.
                drive(*prepared, args.display, "kb", terminal).await?;
            }
        }
        Ok(Exit::Done)
    })?
}
