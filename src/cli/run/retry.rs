//! `kb run retry`

use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::exit::CliResult;
use crate::cli::playbook::{OverrideArgs, ParamArgs, keep_report};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_base::value::RunId;
use kb_service::service::Environment;
use kb_service::service::runs::{self, ProjectContext, RetryFrom, RetryRequest};
use std::path::PathBuf;

/// Reopen a run that has ended and run its failed steps again
///
/// Without options, all steps that did not succeed run again with the definitions that the run
/// started with, and so does a step whose change of a file was undone; the others are kept.
///
/// With `--with-current`, a new run executes the definitions as they are now. It keeps the result of
/// every step that has finished and that nothing changed for, says which steps run and why, and leaves
/// the earlier run as it is. If only the gate of a step changed, the new gate judges the result that is
/// there.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Run this step and all steps after it again
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    /// Run this step again and nothing else; steps after it keep their results
    #[arg(long, value_name = "STEP", conflicts_with_all = ["from", "with_current"])]
    only: Option<String>,
    /// Start a new run with the edited definitions, which keeps finished steps that did not change
    #[arg(long)]
    with_current: bool,
    /// The id of the new run; `kb serve` chooses it, so that it can tell it at once
    #[arg(long, value_name = "ID", requires = "with_current", hide = true, value_parser = run_id)]
    run_id: Option<RunId>,
    #[command(flatten, next_help_heading = "With --with-current")]
    current: CurrentArgs,
    #[command(flatten)]
    overrides: OverrideArgs,
    #[command(flatten)]
    display: DisplayArgs,
}

fn run_id(text: &str) -> Result<RunId, String> {
    RunId::new(text).map_err(|error| error.to_string())
}

/// Options of `--with-current`.
#[derive(Debug, clap::Args)]
struct CurrentArgs {
    #[command(flatten)]
    params: ParamArgs,
    /// Use a script in place of the model (`kb schema script`)
    #[arg(long, value_name = "FILE", requires = "with_current")]
    script: Option<PathBuf>,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    runtime::block_on(Workers::All, async {
        let overrides = args.overrides.overrides();
        if args.with_current {
            let mut start = args.current.params.request(String::new());
            (start.script, start.overrides) = (args.current.script, overrides);
            start.run = args.run_id;
            let request = RetryRequest { run: args.run, from: args.from, start };
            let (prepared, report) = runs::retry_with_current(context, request).await?;
            keep_report::print(&report, terminal)?;
            return drive(prepared, args.display, "kb", terminal).await;
        }
        args.current.params.require_none("--with-current")?;
        let from = match (&args.from, &args.only) {
            (Some(step), _) => RetryFrom::Step(step),
            (None, Some(step)) => RetryFrom::Only(step),
            (None, None) => RetryFrom::Unsuccessful,
        };
        let prepared = runs::retry(context, &args.run, from, &overrides)?;
        drive(prepared, args.display, "kb", terminal).await
    })?
}
