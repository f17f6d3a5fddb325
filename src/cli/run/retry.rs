use crate::cli::CliResult;
use crate::cli::driving::{Showing, drive};
use crate::cli::playbook::Hold;
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
    hold: Hold,
    #[command(flatten)]
    showing: Showing,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let place = service::place_here()?;
    runtime::block_on(Workers::All, async {
        let (from, overrides) = (args.from.as_deref(), args.hold.overrides());
        let prepared = service::runs::retry(place, &args.run, from, &overrides)?;
        drive(prepared, args.showing, "kb", terminal).await
    })?
}
