//! `kb trigger enable`, `disable`, `pause` and `resume`

use super::parts::note_daemon;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_serve::serve::{self, TriggerView};
use kb_service::service::{Environment, Project};

/// Enable a trigger as it is defined now
///
/// A trigger starts runs only after this, and only while its definition stays the same: after a change
/// of the playbook, its specialists, child runs or task files it must be enabled again. Times before now start
/// nothing.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct EnableArgs {
    #[command(flatten)]
    which: Which,
    /// Enable only if the definition has this digest, as `kb trigger show --json` prints it
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
}

/// Disable a trigger; its active runs continue, and those that wait for their start are skipped
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DisableArgs {
    #[command(flatten)]
    which: Which,
}

/// Pause a trigger; its times are listed as skipped until it is resumed
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct PauseArgs {
    #[command(flatten)]
    which: Which,
    /// Why, for those who see the pause
    #[arg(long, value_name = "TEXT", default_value = "by a person")]
    reason: String,
}

/// End the pause of a trigger
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ResumeArgs {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Id of the trigger, or of a playbook with one trigger
    #[arg(value_name = "ID")]
    id: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn enable(
    args: EnableArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let project = Project::find(environment)?;
    let view = serve::enable(&project, &args.which.id, args.digest.as_deref())?;
    let next = view.next.first();
    let next = next.map(|next| format!("; next time {}", next.local)).unwrap_or_default();
    report(&args.which, &view, &format!("enabled{next}"), &project, terminal)
}

pub(super) fn disable(
    args: DisableArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let project = Project::find(environment)?;
    let view = serve::disable(&project, &args.which.id)?;
    report(&args.which, &view, "disabled", &project, terminal)
}

pub(super) fn pause(
    args: PauseArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let project = Project::find(environment)?;
    let view = serve::pause(&project, &args.which.id, &args.reason)?;
    report(&args.which, &view, "paused", &project, terminal)
}

pub(super) fn resume(
    args: ResumeArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let project = Project::find(environment)?;
    let view = serve::resume(&project, &args.which.id)?;
    report(&args.which, &view, "resumed", &project, terminal)
}

fn report(
    which: &Which,
    view: &TriggerView,
    done: &str,
    project: &Project,
    terminal: &mut Terminal,
) -> CliResult {
    if which.json {
        terminal.json(view)?;
        return Ok(Exit::Done);
    }
    terminal.out(&format!("{} {done}\n", view.id))?;
    note_daemon(project, terminal)?;
    Ok(Exit::Done)
}
