//! `kb trigger fire`

use super::parts::{PayloadArgs, note_daemon, payload};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_serve::serve;
use kb_service::service::{Environment, Project};

/// Start a run of a trigger now, through `kb serve`
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    trigger: PayloadArgs,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let PayloadArgs { id, payload: file, json } = args.trigger;
    let payload = payload(environment, file.as_ref())?;
    let fired = serve::fire(&project, &id, &payload)?;
    if json {
        terminal.json(&fired)?;
        return Ok(Exit::Done);
    }
    terminal.out(&format!("{}\n", fired.run))?;
    note_daemon(&project, terminal)?;
    Ok(Exit::Done)
}
