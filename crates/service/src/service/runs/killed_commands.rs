//! Commands in the sandbox that changed protected paths, or whose process was killed before that was compared. The run
//! itself compares them when it continues the step. Whatever else starts in the project waits until the change is undone.

use super::ProjectContext;
use crate::service::ServiceError;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, RunId};
use kb_engine::engine::StartMode;
use kb_engine::inspect::Frozen;
use kb_engine::journal::Journal;
use kb_host::workspace::{OpenCommand, StatesBefore};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Refuses to start a new run, or to continue one, where a killed command left changed protected paths. A run that
/// continues notices those of its own steps itself, and one that is cancelled executes nothing.
pub(super) fn require_none(
    context: &ProjectContext,
    journal: &dyn Journal,
    continued: Option<(&RunId, &StartMode)>,
) -> Result<(), ServiceError> {
    let killed = killed(context, journal)?;
    let own = continued.map(|(run, _)| root_of(journal, run));
    let is_open = |(command, root): &(OpenCommand, RunId)| match continued {
        Some((_, StartMode::Cancel { .. })) => false,
        Some((_, StartMode::Retry { .. })) => {
            Some(root) == own.as_ref() || command.works_in_project()
        }
        Some((_, StartMode::Start { .. } | StartMode::Resume | StartMode::Answer { .. })) => {
            Some(root) != own.as_ref() && command.works_in_project()
        }
        None => command.works_in_project(),
    };
    refuse(context, killed.into_iter().filter(is_open))
}

/// Refuses to execute programs of the project without a run.
pub(in crate::service) fn require_none_open(context: &ProjectContext) -> Result<(), ServiceError> {
    if open_commands(context).is_empty() {
        return Ok(());
    }
    require_none(context, &*context.journal(Default::default())?, None)
}

/// Refuses if killed commands of a run that has ended left changed protected paths.
pub fn require_none_of(context: &ProjectContext, run: &RunId) -> Result<(), ServiceError> {
    if open_commands(context).is_empty() {
        return Ok(());
    }
    let journal = context.journal(Default::default())?;
    let killed = killed(context, &*journal)?;
    refuse(
        context,
        killed.into_iter().filter(|(command, root)| root == run && !command.was_found()),
    )
}

fn open_commands(context: &ProjectContext) -> Vec<OpenCommand> {
    let mut all = StatesBefore::of(&context.state_dir, &context.root).open_commands();
    all.retain(|command| command.was_found() || !is_of_a_living_test(command.run()));
    all
}

/// Whether the process of `kb plugin test` that has this name instead of a run is alive.
fn is_of_a_living_test(run: &RunId) -> bool {
    let process = run.as_str().strip_prefix(TEST_NAME).and_then(|id| id.parse().ok());
    let process = process.and_then(Pid::from_raw);
    process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
}

/// What the name of a test of a plugin begins with, before the id of its process.
pub(in crate::service) const TEST_NAME: &str = "test-";

/// Removes what is known of the commands of ended runs of which no change is left.
pub(super) fn sweep(context: &ProjectContext, has_ended: impl Fn(&RunId) -> bool) {
    for command in open_commands(context) {
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
    for mut command in open_commands(context) {
        let (run, root) = (command.run().clone(), root_of(journal, command.run()));
        // A run that was removed has no process.
        let is_leased = |run: &RunId| journal.is_leased(run).unwrap_or(false);
        // One that ended meanwhile is no longer stored.
        let is_executed = !command.was_found() && (is_leased(&run) || is_leased(&root));
        if is_executed || !command.is_stored() {
            continue;
        }
        command.note_kill(context.clock().of_files());
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
            if command.is_over(context.clock().of_files()) {
                command.forget();
            }
            continue;
        }
        let (step, changed) = (command.step(), changed.join("`, `"));
        let message = format!(
            "step `{step}` of run `{run}` executed a command that changed protected paths: `{changed}`"
        );
        let help = "undo the change; a file that you changed yourself counts as yours once you save it again";
        return Err(ServiceError::refused(Failure::new(Code::PATH_PROTECTED, message).help(help)));
    }
    Ok(())
}
