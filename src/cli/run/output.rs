use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service::{self, RunStatus};
use crate::value::{Json, JsonMap};

/// Print what a run hands out, or what one of its steps does
///
/// Text is printed as it is, everything else as JSON.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A run's id, the first letters of one, or @last
    run: String,
    /// One step, or one item of it (`review[src/a.rs]`)
    step: Option<String>,
    /// JSON, also where it is text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let step = args.step.as_deref();
    let (value, status) = service::run_output(&service::here()?, &args.run, step)?;
    if step.is_none() && matches!(status, RunStatus::Failed | RunStatus::Cancelled) {
        let note = format!("note: the run has {status}; `kb run output {} STEP` prints", args.run);
        terminal.err(&format!("{note} what one step handed out\n"))?;
        if value.as_object().is_none_or(JsonMap::is_empty) {
            return Ok(Exit::RunFailed);
        }
    }
    match &*value {
        Json::String(text) if !args.json => terminal.out(&format!("{text}\n"))?,
        value => terminal.json(value)?,
    }
    Ok(Exit::Done)
}
