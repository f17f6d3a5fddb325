use crate::cli::CliResult;
use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::playbook::OverrideArgs;
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use crate::service;

/// Go on with a run that is interrupted or waiting
///
/// What has ended stays; what was in flight goes on from its last recorded turn or runs again.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A run's id, the first letters of one, or @last
    run: String,
    #[command(flatten)]
    overrides: OverrideArgs,
    #[command(flatten)]
    display: DisplayArgs,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let context = service::context_here()?;
    runtime::block_on(Workers::All, async {
        let prepared = service::runs::resume(context, &args.run, &args.overrides.overrides())?;
        drive(prepared, args.display, "kb", terminal).await
    })?
}
