use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service;
use crate::value::Json;

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
    let value = service::run_output(&service::here()?, &args.run, args.step.as_deref())?;
    match &*value {
        Json::String(text) if !args.json => terminal.out(&format!("{text}\n"))?,
        value => terminal.json(value)?,
    }
    Ok(Exit::Done)
}
