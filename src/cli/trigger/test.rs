//! `kb trigger test`

use super::parts::payload;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::{DIM, Terminal, paint};
use crate::serve;
use crate::service::{Environment, Project};
use crate::value::json_text;
use std::path::PathBuf;

/// Show what a payload would start, without starting it
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the trigger, or of a playbook with one trigger
    #[arg(value_name = "ID")]
    id: String,
    /// JSON file with the payload
    #[arg(long, value_name = "FILE")]
    payload: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let payload = payload(environment, args.payload.as_ref())?;
    let tested = serve::test(&project, &args.id, &payload)?;
    if args.json {
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
