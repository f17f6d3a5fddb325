//! Commands in the sandbox whose process was killed, before their changes of protected paths were compared. The run
//! itself does that when it continues the step. Whatever else starts in the project waits until the change is undone.

use super::ProjectContext;
use crate::service::ServiceError;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, RunId};
use kb_engine::engine::StartMode;
use kb_engine::inspect::Frozen;
use kb_engine::journal::Journal;
use kb_host::workspace::{OpenCommand, StatesBefore};

/// Refuses to start a new run, or to continue one, where a killed command left changed protected paths. A run that
/// continues notices those of its own steps itself, and one that is cancelled executes nothing.
pub(super) fn require_none(
    context: &ProjectContext,
    journal: &dyn Journal,
    continued: Option<(&RunId, &StartMode)>,
) -> Result<(), ServiceError> {
    let killed = killed(context, journal)?;
    let project = context.root.canonicalize().unwrap_or_else(|_| context.root.clone());
    let own = continued.map(|(run, _)| root_of(journal, run));
    let is_open = |(command, root): &(OpenCommand, RunId)| match continued {
        Some((_, StartMode::Cancel { .. })) => false,
        Some((_, StartMode::Retry { .. })) => {
            Some(root) == own.as_ref() || command.works_in(&project)
        }
        Some((_, StartMode::Start { .. } | StartMode::Resume | StartMode::Answer { .. })) => {
            Some(root) != own.as_ref() && command.works_in(&project)
        }
        None => command.works_in(&project),
    };
    refuse(context, killed.into_iter().filter(is_open))
}

/// Refuses if commands of a run that has ended left changed protected paths.
pub fn require_none_of(context: &ProjectContext, run: &RunId) -> Result<(), ServiceError> {
    if StatesBefore::of(&context.state_dir).open_commands().is_empty() {
        return Ok(());
    }
    let journal = context.journal(Default::default())?;
    let killed = killed(context, &*journal)?;
    refuse(context, killed.into_iter().filter(|(_, root)| root == run))
}

/// Removes what is known of the commands of ended runs that changed nothing.
pub(super) fn sweep(context: &ProjectContext, has_ended: impl Fn(&RunId) -> bool) {
    for command in StatesBefore::of(&context.state_dir).open_commands() {
        let is_over = || {
            let workspace = context.workspace(None);
            workspace.is_ok_and(|workspace| command.changed(&workspace).is_empty())
        };
        if has_ended(command.run()) && is_over() {
            command.forget();
        }
    }
}

/// The commands that no process executes any more, each with its run or, of a child run, the run above it.
fn killed(
    context: &ProjectContext,
    journal: &dyn Journal,
) -> Result<Vec<(OpenCommand, RunId)>, ServiceError> {
    let mut killed = Vec::new();
    for mut command in StatesBefore::of(&context.state_dir).open_commands() {
        let (run, root) = (command.run().clone(), root_of(journal, command.run()));
        // A run that was removed has no process.
        let is_leased = |run: &RunId| journal.is_leased(run).unwrap_or(false);
        // One that ended meanwhile is no longer stored.
        if is_leased(&run) || is_leased(&root) || !command.is_stored() {
            continue;
        }
        command.note_kill(|| {
            let last = journal.events(&run, 0).ok()?.last().map(|stored| stored.at);
            journal.last_renewal(&root).max(journal.last_renewal(&run)).max(last)
        });
        killed.push((command, root));
    }
    Ok(killed)
}

/// The run that a person started, of which a run is a part.
fn root_of(journal: &dyn Journal, run: &RunId) -> RunId {
    let mut root = run.clone();
    while let Some(parent) = Frozen::of_run(journal, &root).ok().and_then(|frozen| frozen.parent) {
        root = parent.run;
    }
    root
}

fn refuse(
    context: &ProjectContext,
    killed: impl Iterator<Item = (OpenCommand, RunId)>,
) -> Result<(), ServiceError> {
    for (command, run) in killed {
        let workspace = context.workspace(None).map_err(|error| {
            let message = format!("the project folder cannot be opened: {error}");
            ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
        })?;
        let changed = command.changed(&workspace);
        if changed.is_empty() {
            // What people remove later is no change of this command.
            if command.is_over(context.clock().now()) {
                command.forget();
            }
            continue;
        }
        let (step, changed) = (command.step(), changed.join("`, `"));
        let message = format!(
            "run `{run}` was killed while step `{step}` executed a command that changed protected paths: `{changed}`"
        );
        let help = "undo the change; a file that you changed yourself counts as yours once you save it again";
        return Err(ServiceError::refused(Failure::new(Code::PATH_PROTECTED, message).help(help)));
    }
    Ok(())
}
