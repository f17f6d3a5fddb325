//! `kb run resume`

use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::exit::CliResult;
use crate::cli::playbook::OverrideArgs;
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_service::service::Environment;
use kb_service::service::runs::{self, ProjectContext};

/// Resume a run that is interrupted or waiting
///
/// Steps that have ended are kept. Steps that were running continue from their last recorded turn
/// or run again.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    #[command(flatten)]
    overrides: OverrideArgs,
    #[command(flatten)]
    display: DisplayArgs,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    runtime::block_on(Workers::All, async {
        let prepared = runs::resume(context, &args.run, &args.overrides.overrides())?;
        drive(prepared, args.display, "kb", terminal).await
    })?
}
