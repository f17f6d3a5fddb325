//! `kb trigger enable`, `disable`, `pause` and `resume`

use super::parts::{note_daemon, note_unset_secrets};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use clap::ArgGroup;
use kb_serve::serve::{self, TriggerStateName, TriggerView};
use kb_service::service::{Environment, Project, ServiceError};
use std::collections::BTreeMap;

/// Enable a trigger as it is defined now
///
/// A trigger starts runs only after this, and only while its definition stays the same: after a change
/// of the playbook, its specialists, child runs or task files it must be enabled again. Times before now start
/// nothing.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("which").required(true).args(["id", "all", "changed"]))]
pub(in crate::cli) struct EnableArgs {
    #[command(flatten)]
    which: Which,
    /// Enable all triggers whose definition changed after they were enabled
    #[arg(long, conflicts_with = "digest")]
    changed: bool,
    /// Enable only if the definition has this digest, as `kb trigger show --json` prints it
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
}

/// Disable a trigger; its active runs continue, and those that wait for their start are skipped
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("which").required(true).args(["id", "all"]))]
pub(in crate::cli) struct DisableArgs {
    #[command(flatten)]
    which: Which,
}

/// Pause a trigger; its times are listed as skipped until it is resumed
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("which").required(true).args(["id", "all"]))]
pub(in crate::cli) struct PauseArgs {
    #[command(flatten)]
    which: Which,
    /// Why, for those who see the pause
    #[arg(long, value_name = "TEXT", default_value = "by a person")]
    reason: String,
}

/// End the pause of a trigger
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("which").required(true).args(["id", "all"]))]
pub(in crate::cli) struct ResumeArgs {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Id of the trigger, or of a playbook with one trigger
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// All triggers of the project
    #[arg(long)]
    all: bool,
    /// Print a JSON object, or a list of them with several triggers
    #[arg(long)]
    json: bool,
}

pub(super) fn enable(
    args: EnableArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let is_changed = |view: &TriggerView| view.state == TriggerStateName::Changed;
    let wanted = move |view: &TriggerView| {
        is_changed(view) || !args.changed && view.state == TriggerStateName::Disabled
    };
    let change = Change {
        wanted: &wanted,
        apply: &|project, id| serve::enable(project, id, args.digest.as_deref()),
        done: &|view| {
            let next = view.next.first();
            let next = next.map(|next| format!("; next time {}", next.local)).unwrap_or_default();
            format!("enabled{next}")
        },
    };
    change.run(&args.which, environment, terminal)
}

pub(super) fn disable(
    args: DisableArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let change = Change {
        wanted: &|view| view.state != TriggerStateName::Disabled,
        apply: &serve::disable,
        done: &|_| "disabled".to_owned(),
    };
    change.run(&args.which, environment, terminal)
}

pub(super) fn pause(
    args: PauseArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let change = Change {
        wanted: &|view| view.state == TriggerStateName::Enabled,
        apply: &|project, id| serve::pause(project, id, &args.reason),
        done: &|_| "paused".to_owned(),
    };
    change.run(&args.which, environment, terminal)
}

pub(super) fn resume(
    args: ResumeArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let change = Change {
        wanted: &|view| view.state == TriggerStateName::Paused,
        apply: &serve::resume,
        done: &|_| "resumed".to_owned(),
    };
    change.run(&args.which, environment, terminal)
}

/// A change of one trigger, or of all that it concerns.
struct Change<'c> {
    /// The triggers that `--all` changes.
    wanted: &'c dyn Fn(&TriggerView) -> bool,
    apply: &'c dyn Fn(&Project, &str) -> Result<TriggerView, ServiceError>,
    done: &'c dyn Fn(&TriggerView) -> String,
}

/// What is said if none of these triggers is in the state that the change begins with.
fn nothing_to_change(all: &[TriggerView]) -> String {
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter().for_each(|view| *states.entry(view.state.as_str()).or_default() += 1);
    let counted: Vec<String> =
        states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    if counted.is_empty() {
        return "there are no triggers; `on:` of a playbook declares them\n".to_owned();
    }
    format!("no trigger to change: {}; `kb trigger list` shows them\n", counted.join(", "))
}

impl Change<'_> {
    fn run(self, which: &Which, environment: &Environment, terminal: &mut Terminal) -> CliResult {
        let project = Project::find(environment)?;
        if let Some(id) = &which.id {
            let view = (self.apply)(&project, id)?;
            if which.json {
                terminal.json(&view)?;
                return Ok(Exit::Done);
            }
            terminal.out(&format!("{} {}\n", view.id, (self.done)(&view)))?;
            note_unset_secrets(&project, &[view], terminal)?;
            note_daemon(&project, terminal)?;
            return Ok(Exit::Done);
        }
        let all = serve::list(&project, 1)?;
        let wanted: Vec<&TriggerView> = all.iter().filter(|view| (self.wanted)(view)).collect();
        if wanted.is_empty() && !which.json {
            terminal.note(&nothing_to_change(&all))?;
        }
        let mut views = Vec::new();
        let mut first_problem = None;
        for view in wanted {
            match (self.apply)(&project, &view.id) {
                Ok(view) => {
                    if !which.json {
                        terminal.out(&format!("{} {}\n", view.id, (self.done)(&view)))?;
                    }
                    views.push(view);
                }
                Err(problem) => {
                    if !which.json {
                        terminal.note(&format!("{} is left as it is: {problem}\n", view.id))?;
                    }
                    first_problem = first_problem.or(Some(problem));
                }
            }
        }
        if which.json {
            terminal.json(&views)?;
        } else if !views.is_empty() {
            note_unset_secrets(&project, &views, terminal)?;
            note_daemon(&project, terminal)?;
        }
        match first_problem {
            None => Ok(Exit::Done),
            Some(problem) => Err(problem.into()),
        }
    }
}
