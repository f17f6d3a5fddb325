//! Commands in the sandbox that changed protected paths, or whose process was killed before that was compared. The run
//! itself compares them when it continues the step. Whatever else starts in the project waits until the change is undone.

use super::ProjectContext;
use crate::service::ServiceError;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, RunId};
use kb_core::run::RunStatus;
use kb_engine::engine::StartMode;
use kb_engine::inspect::Frozen;
use kb_engine::journal::Journal;
use kb_host::workspace::{OpenChange, OpenCommand, StatesBefore};

/// Refuses to start a new run, or to continue one, where commands left changed protected paths. What its own killed commands
/// changed, a run that continues notices itself, and one that is cancelled executes nothing.
pub(super) fn require_none(
    context: &ProjectContext,
    journal: &dyn Journal,
    continued: Option<(&RunId, &StartMode)>,
) -> Result<(), ServiceError> {
    let own = continued.map(|(run, _)| root_of(journal, run));
    let mut left = left(context, journal)?;
    left.retain(|left| match continued {
        Some((_, StartMode::Cancel { .. })) => false,
        Some((_, StartMode::Start { .. } | StartMode::Resume | StartMode::Answer { .. })) => {
            left.command.was_found() || Some(&left.root) != own.as_ref()
        }
        Some((_, StartMode::Retry { .. })) | None => true,
    });
    // Changes in a worktree or copy concern its run.
    for left in &mut left {
        let is_own = Some(&left.root) == own.as_ref();
        left.changed.retain(|change| is_own || change.is_in_project());
    }
    refuse(&left)
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
    let mut left = left(context, &*context.journal(Default::default())?)?;
    left.retain(|left| left.root == *run && !left.command.was_found());
    refuse(&left)
}

/// What commands that are not executed any more changed of protected paths and what is neither undone nor accepted.
#[derive(Default)]
pub struct ProtectedChanges(Vec<Left>);

impl ProtectedChanges {
    /// Those of a project. Blocks.
    pub fn of(context: &ProjectContext) -> Result<ProtectedChanges, ServiceError> {
        if open_commands(context).is_empty() {
            return Ok(ProtectedChanges::default());
        }
        Ok(ProtectedChanges(left(context, &*context.journal(Default::default())?)?))
    }

    /// Each with the run and the step.
    pub fn list(&self) -> impl Iterator<Item = (&RunId, &str, &OpenChange)> {
        self.0.iter().flat_map(|left| {
            left.changed.iter().map(|change| (left.command.run(), left.command.step(), change))
        })
    }

    /// Stands for exactly these changes.
    pub fn digest(&self) -> String {
        let all: Vec<_> = self.list().collect();
        Digest::of_json(&serde_json::json!(all)).short(16)
    }

    /// Why nothing starts; `None` if there is no change.
    pub fn refusal(&self) -> Option<Failure> {
        self.0.iter().find_map(|left| left.command.refusal(&left.changed))
    }

    /// A person accepts them as they are shown here. Refuses while a run executes, whose commands could do that. Blocks.
    pub fn accept(self, context: &ProjectContext) -> Result<(), ServiceError> {
        let refused = |message: String, help: &str| {
            ServiceError::refused(Failure::new(Code::PATH_PROTECTED, message).help(help))
        };
        let rows = context.journal(Default::default())?.list()?;
        if let Some(row) = rows.iter().find(|row| row.status == RunStatus::Running) {
            let message = format!("nothing is accepted while run `{}` executes", row.run);
            return Err(refused(message, "wait for its end, or cancel it"));
        }
        let mut all = states(context).open_commands().into_iter();
        if all.any(|command| is_of_a_living_test(context, command.run())) {
            let message = "nothing is accepted while `kb plugin test` executes".to_owned();
            return Err(refused(message, "wait for its end"));
        }
        for Left { mut command, changed, .. } in self.0 {
            command.accept(&changed).map_err(|error| {
                let message = format!("the state folder cannot be written: {error}");
                ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
            })?;
        }
        Ok(())
    }
}

/// A command that is not executed any more, with what is left of its changes.
struct Left {
    command: OpenCommand,
    /// Its run or, of a child run, the run above it.
    root: RunId,
    changed: Vec<OpenChange>,
}

fn states(context: &ProjectContext) -> StatesBefore {
    StatesBefore::of(&context.state_dir, &context.root)
}

fn open_commands(context: &ProjectContext) -> Vec<OpenCommand> {
    let mut all = states(context).open_commands();
    all.retain(|command| command.was_found() || !is_of_a_living_test(context, command.run()));
    all
}

/// Whether `kb plugin test` that has this name instead of a run executes.
fn is_of_a_living_test(context: &ProjectContext, run: &RunId) -> bool {
    run.as_str().starts_with(TEST_NAME) && states(context).is_held(run)
}

/// What the name of a test of a plugin begins with, before the id of its process.
pub(in crate::service) const TEST_NAME: &str = "test-";

/// Removes what is known of the commands of ended runs of which no change is left.
pub(super) fn sweep(context: &ProjectContext, has_ended: impl Fn(&RunId) -> bool) {
    for command in open_commands(context) {
        if let (true, Ok(workspace)) = (has_ended(command.run()), context.workspace(None)) {
            command.forget_if_undone(&workspace, context.clock().of_files());
        }
    }
}

/// The commands that no process executes any more, with what is left of their changes. Those without are forgotten.
fn left(context: &ProjectContext, journal: &dyn Journal) -> Result<Vec<Left>, ServiceError> {
    let mut all = Vec::new();
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
        let workspace = context.workspace(None).map_err(|error| {
            let message = format!("the project folder cannot be opened: {error}");
            ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
        })?;
        let changed = command.changed(&workspace);
        if changed.is_empty() {
            // What people change later is no change of this command.
            command.forget_if_undone(&workspace, context.clock().of_files());
        } else {
            all.push(Left { command, root, changed });
        }
    }
    Ok(all)
}

/// The run that a person started, of which a run is a part.
fn root_of(journal: &dyn Journal, run: &RunId) -> RunId {
    let mut root = run.clone();
    while let Some(parent) = Frozen::of_run(journal, &root).ok().and_then(|frozen| frozen.parent) {
        root = parent.run;
    }
    root
}

fn refuse(left: &[Left]) -> Result<(), ServiceError> {
    let failure = left.iter().find_map(|left| left.command.refusal(&left.changed));
    failure.map_or(Ok(()), |failure| Err(ServiceError::refused(failure)))
}
