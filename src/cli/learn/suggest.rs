//! `kb learn suggest`

use super::runs::RUNS;
use super::show::counts;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::{TITLE, Terminal, paint};
use kb_service::service::{self, Environment};

/// Suggest other tiers, other specialists, and plans that can become playbooks
///
/// Only what the bounds of at least eight decided attempts separate is suggested. Each suggestion is written to
/// `.kb/learning/ID.md` with what it rests on. Nothing else changes.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// How many of the newest runs are read
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    runs: usize,
    /// Write no files
    #[arg(long)]
    no_files: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let learned = service::learned(environment, args.runs)?;
    if !args.no_files {
        service::write_suggestions(environment, &learned.suggestions)?;
    }
    let text = || {
        let lines = learned
            .suggestions
            .iter()
            .map(|own| format!("{}  {}\n", paint(TITLE, &own.id), own.text));
        lines.collect()
    };
    terminal.result(args.json, &learned.suggestions, text)?;
    if args.json {
        return Ok(Exit::Done);
    }
    terminal.note(&counts(&learned))?;
    terminal.note(if learned.suggestions.is_empty() {
        "nothing is suggested; `kb learn show` has the counts\n"
    } else {
        "read the files in .kb/learning, then `kb learn apply ID`\n"
    })?;
    Ok(Exit::Done)
}
