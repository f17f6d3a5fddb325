//! `kb run retry`

use crate::cli::CliResult;
use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::playbook::OverrideArgs;
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use crate::service::Environment;
use crate::service::runs::{self, ProjectContext};

/// Reopen a run that has ended and run its failed steps again
///
/// Without `--from`, all steps that did not succeed run again; the others are kept.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    run: String,
    /// Run this step and all steps after it again
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    #[command(flatten)]
    overrides: OverrideArgs,
    #[command(flatten)]
    display: DisplayArgs,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    runtime::block_on(Workers::All, async {
        let (from, overrides) = (args.from.as_deref(), args.overrides.overrides());
        let prepared = runs::retry(context, &args.run, from, &overrides)?;
        drive(prepared, args.display, "kb", terminal).await
    })?
}
