//! What the commands for triggers share: a note about the daemon, the line of a fire, a trigger with a payload.

use crate::cli::exit::CliError;
use crate::cli::terminal::Terminal;
use kb_base::value::Json;
use kb_serve::serve::{FireView, TriggerStateName, TriggerView, daemon_of, daemon_problem};
use kb_service::service::{Environment, Project, unset_hook_secrets};
use std::path::{Path, PathBuf};

/// A trigger and a payload for it.
#[derive(Debug, clap::Args)]
pub(super) struct PayloadArgs {
    /// Id of the trigger, or of a playbook with one trigger
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// JSON file with the payload from which the trigger takes parameters
    #[arg(long, value_name = "FILE")]
    pub(super) payload: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Says that nothing starts without the daemon, or what keeps it from starting anything.
pub(super) fn note_daemon(project: &Project, terminal: &mut Terminal) -> std::io::Result<()> {
    match daemon_of(&project.context.state_dir) {
        Some(_) => match daemon_problem(&project.context.state_dir) {
            Some(problem) => terminal.note(&format!(
                "`kb serve` starts nothing at the moment, and tries again: {problem}\n"
            )),
            None => Ok(()),
        },
        None => terminal.note("`kb serve` does not run; it starts the runs of triggers\n"),
    }
}

/// Says which of these webhooks refuse all requests because no secret of them has a value.
pub(super) fn note_unset_secrets(
    project: &Project,
    triggers: &[TriggerView],
    terminal: &mut Terminal,
) -> std::io::Result<()> {
    let is_on = |id: &str| {
        triggers.iter().any(|own| own.id == id && own.state != TriggerStateName::Disabled)
    };
    for (id, why) in unset_hook_secrets(project).iter().filter(|(id, _)| is_on(id)) {
        terminal.note(&format!("`{id}` refuses all requests: {why}\n"))?;
    }
    Ok(())
}

/// The columns of a fire in a table: time, state, run, reason.
pub(super) fn fire_line(fire: &FireView) -> [String; 4] {
    let time = |text: &str| text.get(..16).unwrap_or(text).replace('T', " ");
    let nominal = fire.nominal.as_deref().unwrap_or(&fire.at);
    let when = match &fire.until {
        Some(until) => format!("{} to {}", time(nominal), time(until)),
        None => time(nominal),
    };
    let run = fire.run.clone().unwrap_or_default();
    [when, fire.state.to_string(), run, fire.reason.clone().unwrap_or_default()]
}

/// The JSON value of a payload file.
pub(super) fn payload(environment: &Environment, path: Option<&PathBuf>) -> Result<Json, CliError> {
    let Some(path) = path else { return Ok(Json::Null) };
    let problem = |message: String| CliError::Usage {
        message,
        help: Some("write the payload as JSON".to_owned()),
    };
    let shown = path.display();
    let bytes = std::fs::read(environment.absolute(Path::new(path)))
        .map_err(|error| problem(format!("`{shown}` cannot be read: {error}")))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| problem(format!("`{shown}` is not JSON: {error}")))
}
