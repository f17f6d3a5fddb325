//! `kb run output`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_base::value::{Json, JsonMap};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, RunStatus};

/// Print the outputs of a run, or the output of one step
///
/// Text is printed as it is, other values as JSON. On a terminal, control characters are escaped.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Step id, or an item such as `review[src/a.rs]`
    step: Option<String>,
    /// Print JSON for text values too
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let step = args.step.as_deref();
    let (value, status) =
        service::run_output(&ProjectContext::find(environment)?, &args.run, step)?;
    if step.is_none() && matches!(status, RunStatus::Failed | RunStatus::Cancelled) {
        let note = format!("note: the run has {status}; `kb run output {} STEP`", args.run);
        terminal.note(&format!("{note} prints the output of one step\n"))?;
        if value.as_object().is_none_or(JsonMap::is_empty) {
            return Ok(Exit::RunFailed);
        }
    }
    match &*value {
        Json::String(text) if !args.json => terminal.data(&format!("{text}\n"))?,
        value => terminal.json(value)?,
    }
    Ok(Exit::Done)
}
