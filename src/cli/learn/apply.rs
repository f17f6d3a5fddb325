//! `kb learn apply`

use super::runs::RUNS;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment};

/// Apply a suggestion: change the tier of a specialist, prefer one for a kind of task, or keep a plan as a playbook
///
/// The recorded runs are read again, and must still suggest it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The id of the suggestion
    #[arg(value_name = "ID")]
    id: String,
    /// The id of the playbook that a plan becomes
    #[arg(long = "as", value_name = "PLAYBOOK")]
    name: Option<String>,
    /// How many of the newest runs are read
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    runs: usize,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let name = args.name.as_deref();
    let applied = service::apply_suggestion(environment, &args.id, name, args.runs)?;
    let text = || format!("{}\n", applied.path);
    terminal.result(args.json, &applied, text)?;
    if !args.json {
        terminal.note(&format!("applied: {}\n", applied.suggestion.text))?;
    }
    Ok(Exit::Done)
}
