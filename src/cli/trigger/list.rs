//! `kb trigger list`

use super::parts::{fire_line, note_daemon, note_unset_secrets};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::broken;
use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use kb_serve::serve;
use kb_service::service::{Environment, Project};

/// List triggers with their state and next time
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let triggers = serve::list(&project, 1)?;
    if args.json {
        terminal.json(&triggers)?;
        return Ok(Exit::Done);
    }
    let mut table =
        Table::new(["TRIGGER", "KIND", "STATE", "SOURCE", "NEXT", "LAST"]).shorten("SOURCE");
    for trigger in &triggers {
        let next = match trigger.state {
            serve::TriggerStateName::Enabled => trigger.next.first().map(|next| next.local.clone()),
            _ => None,
        };
        let last = trigger.fires.first().map(|fire| {
            let [when, state, ..] = fire_line(fire);
            format!("{when} {state}")
        });
        let source = match &trigger.zone {
            None if trigger.problem.is_some() => trigger.problem.clone().unwrap_or_default(),
            Some(zone) => format!("{} {zone}", trigger.source),
            None => trigger.source.clone(),
        };
        let (next, last) = (next.unwrap_or_default(), last.unwrap_or_default());
        let delayed = if trigger.delayed.is_some() { ", delayed" } else { "" };
        let state = format!("{}{delayed}", trigger.state.as_str());
        table.row([&trigger.id, trigger.kind, &state, &source, &next, &last]);
    }
    terminal.out(&table.text())?;
    for trigger in &triggers {
        if let Some(why) = &trigger.delayed {
            terminal.note(&format!("`{}`: {why}\n", trigger.id))?;
        }
    }
    note_unset_secrets(&project, &triggers, terminal)?;
    let moved = triggers.iter().filter(|t| t.state == serve::TriggerStateName::Moved);
    for trigger in moved {
        let problem = trigger.problem.as_deref().unwrap_or_default();
        terminal.note(&format!("`{}`: {problem}\n", trigger.id))?;
    }
    broken::print(&project.broken_files(), "kb playbook validate", terminal)?;
    if triggers.is_empty() {
        terminal.note("no playbook has triggers; `on:` of a playbook declares them\n")?
    } else {
        note_daemon(&project, terminal)?
    }
    Ok(Exit::Done)
}
