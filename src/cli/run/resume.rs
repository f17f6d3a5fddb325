use crate::cli::CliResult;
use crate::cli::driving::{Showing, drive};
use crate::cli::playbook::Hold;
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
    hold: Hold,
    #[command(flatten)]
    showing: Showing,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let place = service::place_here()?;
    runtime::block_on(Workers::All, async {
        let prepared = service::runs::resume(place, &args.run, &args.hold.overrides())?;
        drive(prepared, args.showing, "kb", terminal).await
    })?
}
