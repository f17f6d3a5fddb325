//! `kb trigger test`

use super::parts::{PayloadArgs, payload};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::{DIM, Terminal, paint};
use kb_base::value::json_text;
use kb_serve::serve;
use kb_service::service::{Environment, Project};

/// Show what a payload would start, without starting it
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    trigger: PayloadArgs,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let PayloadArgs { id, payload: file, json } = args.trigger;
    let payload = payload(environment, file.as_ref())?;
    let tested = serve::test(&project, &id, &payload)?;
    if json {
        terminal.json(&tested)?;
        return Ok(Exit::Done);
    }
    let mut text = format!("would start {}\n", tested.playbook);
    for (name, value) in &tested.params {
        text += &format!("  {} {}\n", paint(DIM, &format!("{name}:")), json_text(value));
    }
    terminal.out(&text)?;
    if tested.state != serve::TriggerStateName::Enabled {
        let state = tested.state.as_str();
        terminal.note(&format!("{} is {state}, so it starts nothing\n", tested.trigger))?;
    }
    Ok(Exit::Done)
}
