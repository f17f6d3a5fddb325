//! `kb trigger fire`

use super::parts::{note_daemon, payload};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use crate::serve;
use crate::service::{Environment, Project};
use std::path::PathBuf;

/// Start a run of a trigger now, through `kb serve`
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the trigger, or of a playbook with one trigger
    #[arg(value_name = "ID")]
    id: String,
    /// JSON file with the payload from which the trigger takes parameters
    #[arg(long, value_name = "FILE")]
    payload: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let payload = payload(environment, args.payload.as_ref())?;
    let fired = serve::fire(&project, &args.id, &payload)?;
    if args.json {
        terminal.json(&fired)?;
        return Ok(Exit::Done);
    }
    terminal.out(&format!("{}\n", fired.run))?;
    note_daemon(&project, terminal)?;
    Ok(Exit::Done)
}
