//! `kb trigger …`: commands for schedules and other triggers.

mod backfill;
mod change;
mod fire;
mod list;
mod next;
mod publish;
mod show;
mod test;

use super::CliResult;
use super::exit::CliError;
use super::terminal::Terminal;
use crate::serve::{FireView, daemon_of};
use crate::service::{Environment, Project};
use crate::value::Json;
use clap::Subcommand;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum TriggerCommand {
    List(list::Args),
    Show(show::Args),
    Enable(change::EnableArgs),
    Disable(change::DisableArgs),
    Pause(change::PauseArgs),
    Resume(change::ResumeArgs),
    Next(next::Args),
    Fire(fire::Args),
    Backfill(backfill::Args),
    Test(test::Args),
    Publish(publish::Args),
}

pub(super) fn run(
    command: TriggerCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        TriggerCommand::List(args) => list::run(args, environment, terminal),
        TriggerCommand::Show(args) => show::run(args, environment, terminal),
        TriggerCommand::Enable(args) => change::enable(args, environment, terminal),
        TriggerCommand::Disable(args) => change::disable(args, environment, terminal),
        TriggerCommand::Pause(args) => change::pause(args, environment, terminal),
        TriggerCommand::Resume(args) => change::resume(args, environment, terminal),
        TriggerCommand::Next(args) => next::run(args, environment, terminal),
        TriggerCommand::Fire(args) => fire::run(args, environment, terminal),
        TriggerCommand::Backfill(args) => backfill::run(args, environment, terminal),
        TriggerCommand::Test(args) => test::run(args, environment, terminal),
        TriggerCommand::Publish(args) => publish::run(args, environment, terminal),
    }
}

/// Reminds that nothing starts without the daemon.
fn note_daemon(project: &Project, terminal: &mut Terminal) -> std::io::Result<()> {
    match daemon_of(&project.context.state_dir) {
        Some(_) => Ok(()),
        None => terminal.note("`kb serve` does not run; it starts the runs of triggers\n"),
    }
}

/// A fire in one line.
fn fire_line(fire: &FireView) -> [String; 4] {
    let time = |text: &str| text.get(..16).unwrap_or(text).replace('T', " ");
    let nominal = fire.nominal.as_deref().unwrap_or(&fire.at);
    let when = match &fire.until {
        Some(until) => format!("{} to {}", time(nominal), time(until)),
        None => time(nominal),
    };
    let run = fire.run.clone().unwrap_or_default();
    [when, fire.state.to_owned(), run, fire.reason.clone().unwrap_or_default()]
}

/// The JSON value of a payload file.
fn payload(environment: &Environment, path: Option<&PathBuf>) -> Result<Json, CliError> {
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
