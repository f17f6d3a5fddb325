//! The worktrees and copies of the runs of a project: which stay, and their removal.

use super::{ProjectContext, killed_commands};
use kb_base::value::RunId;
use kb_core::run::RunStatus;
use kb_core::wire::TreeView;
use kb_engine::journal::{Journal, JournalError};
use kb_host::isolation::{Leftover, Need, Trees, home_of};
use kb_host::specialist::AgentHomes;
use kb_host::workspace::{StatesBefore, Workspace};
use kb_language::definition::Settings;

fn trees(context: &ProjectContext) -> Option<Trees> {
    let home = home_of(&context.state_dir);
    if !home.is_dir() {
        return None;
    }
    let project = Workspace::open(&context.root, &[], &[]).ok()?;
    Some(Trees::new(project, home, context.supervisor(&Settings::default())))
}

/// Removes the worktrees and copies that no run needs any more. Nothing fails: what cannot be removed
/// now is removed by a later call.
pub(in crate::service) async fn sweep(context: &ProjectContext, journal: &dyn Journal) {
    let has_ended = |run: &RunId| match journal.run(run) {
        Ok(row) => row.status.has_ended(),
        Err(error) => matches!(error, JournalError::NoRun(_)),
    };
    StatesBefore::of(&context.state_dir, &context.root).sweep(has_ended);
    killed_commands::sweep(context, has_ended);
    AgentHomes::of(&context.state_dir).sweep(has_ended);
    let Some(trees) = trees(context) else { return };
    let need = |run: &RunId| match journal.run(run) {
        Ok(row) => match row.status {
            RunStatus::Succeeded => Need::Unmergeable,
            RunStatus::Failed | RunStatus::Cancelled => Need::Unmerged,
            RunStatus::Running | RunStatus::Waiting | RunStatus::Interrupted => Need::All,
        },
        Err(JournalError::NoRun(_)) => Need::Nothing,
        Err(_) => Need::All,
    };
    let left = trees.sweep(need).await;
    tracing::debug!(trees = left.len(), "swept");
}

/// Removes the worktrees and copies that no run of a project needs any more.
pub async fn sweep_trees(context: &ProjectContext) {
    if let Ok(journal) = context.journal(Default::default()) {
        sweep(context, &*journal).await;
    }
}

/// The worktrees and copies of a run whose changes are not merged.
pub(in crate::service) fn trees_of(context: &ProjectContext, run: &RunId) -> Vec<TreeView> {
    let found = trees(context).map(|trees| trees.of_run(run)).unwrap_or_default();
    let view = |Leftover { instance, path, .. }: Leftover| TreeView {
        instance,
        path: path.display().to_string(),
    };
    found.into_iter().map(view).collect()
}
