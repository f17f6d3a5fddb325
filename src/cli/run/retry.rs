use crate::cli::CliResult;
use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::playbook::OverrideArgs;
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use crate::service;

/// Re-open a run that failed or was cancelled, in its next iteration
///
/// Without `--from`, everything that did not succeed runs again; what did stays.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A run's id, the first letters of one, or @last
    run: String,
    /// Run this step and everything after it again
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    #[command(flatten)]
    overrides: OverrideArgs,
    #[command(flatten)]
    display: DisplayArgs,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let context = service::context_here()?;
    runtime::block_on(Workers::All, async {
        let (from, overrides) = (args.from.as_deref(), args.overrides.overrides());
        let prepared = service::runs::retry(context, &args.run, from, &overrides)?;
        drive(prepared, args.display, "kb", terminal).await
    })?
}
