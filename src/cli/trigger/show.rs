//! `kb trigger show`

use super::parts::{fire_line, note_daemon, note_unset_secrets};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::{DIM, TITLE, Terminal, paint};
use kb_serve::serve;
use kb_service::service::{Environment, Project};

/// Show a trigger with its next times and what became of the last ones
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the trigger, or of a playbook with one trigger
    #[arg(value_name = "ID")]
    id: String,
    /// Number of past times and events
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let trigger = serve::show(&project, &args.id, args.limit)?;
    if args.json {
        terminal.json(&trigger)?;
        return Ok(Exit::Done);
    }
    let zone = trigger.zone.as_ref().map(|zone| format!(" {zone}")).unwrap_or_default();
    let paused = trigger.paused.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let changed = trigger.changed.as_ref().map(|change| {
        let by = change.by.as_deref().unwrap_or("kb serve");
        format!(", {} by {} at {}", change.what, plain(by), change.at)
    });
    let changed = changed.unwrap_or_default();
    terminal.out(&format!(
        "{}  {} {}{zone}\n{}  {}{paused}{changed}\n{}  {}\n",
        paint(TITLE, &trigger.id),
        trigger.kind,
        trigger.source,
        paint(DIM, "state "),
        trigger.state.as_str(),
        paint(DIM, "digest"),
        &trigger.digest[..12]
    ))?;
    if trigger.state == serve::TriggerStateName::Enabled && !trigger.next.is_empty() {
        terminal.out(&format!("\n{}\n", paint(TITLE, "next")))?;
        terminal.out(&super::next::table(&trigger.next))?;
    }
    if !trigger.fires.is_empty() {
        let mut table = Table::new(["TIME (UTC)", "STATE", "RUN", "REASON"]);
        trigger.fires.iter().for_each(|fire| table.row(fire_line(fire)));
        terminal.out(&format!("\n{}", table.text()))?;
    }
    note_unset_secrets(&project, std::slice::from_ref(&trigger), terminal)?;
    match trigger.state {
        serve::TriggerStateName::Disabled => {
            terminal.note(&format!("`kb trigger enable {}` enables it\n", trigger.id))?;
        }
        serve::TriggerStateName::Changed => terminal.note(&format!(
            "the definition was changed; `kb trigger enable {}` enables it as it is now\n",
            trigger.id
        ))?,
        serve::TriggerStateName::Paused => {
            terminal.note(&format!("`kb trigger resume {}` ends the pause\n", trigger.id))?;
        }
        serve::TriggerStateName::Broken
        | serve::TriggerStateName::Removed
        | serve::TriggerStateName::Moved => {
            let problem = trigger.problem.as_deref().unwrap_or_default();
            terminal.note(&format!("{problem}\n"))?;
        }
        serve::TriggerStateName::Enabled => note_daemon(&project, terminal)?,
    }
    Ok(Exit::Done)
}
