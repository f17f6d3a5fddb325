//! `kb trigger test`

use super::parts::{PayloadArgs, payload};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::{DIM, Terminal, paint};
use kb_base::value::{Json, json_text};
use kb_serve::serve;
use kb_service::service::{Environment, Project};

/// Show what a payload would start, without starting it
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    trigger: PayloadArgs,
    /// A header of the delivery to a webhook, for `when`; repeatable
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
}

/// Reads `X-GitHub-Event: push`; names of headers are in lower case.
fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write `NAME: VALUE`")?;
    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let PayloadArgs { id, payload: file, json } = args.trigger;
    let payload = payload(environment, file.as_ref())?;
    let headers = args.headers.into_iter().map(|(name, value)| (name, Json::String(value)));
    let tested = serve::test(&project, &id, &payload, &Json::Object(headers.collect()))?;
    if json {
        terminal.json(&tested)?;
        return Ok(Exit::Done);
    }
    let would = if tested.left_out.is_some() { "would not start" } else { "would start" };
    let mut text = format!("{would} {}\n", tested.playbook);
    for (name, value) in &tested.params {
        text += &format!("  {} {}\n", paint(DIM, &format!("{name}:")), json_text(value));
    }
    terminal.out(&text)?;
    if let Some(reason) = &tested.left_out {
        terminal.note(&format!("{reason}\n"))?;
    }
    if tested.state != serve::TriggerStateName::Enabled {
        let state = tested.state.as_str();
        terminal.note(&format!("{} is {state}, so it starts nothing\n", tested.trigger))?;
    }
    Ok(Exit::Done)
}
