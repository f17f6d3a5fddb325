//! [`OpenCommand`]: a command in the sandbox whose changes of protected paths are not recorded yet.

use super::left_behind::is_before;
use super::path_guard::Workspace;
use super::state_before::{StatesBefore, StoredProtected, read, write};
use kb_base::value::{RunId, Timestamp};
use std::io::Result;
use std::path::{Path, PathBuf};

/// Time in which the processes of a killed `kb` end, at most.
const ENDS_WITHIN_MS: i64 = 10_000;

/// A command in the sandbox with the protected paths before it. It executes now, or its process was killed.
#[derive(Debug)]
pub struct OpenCommand {
    run: RunId,
    path: PathBuf,
    stored: Result<StoredProtected>,
}

impl StatesBefore {
    /// The commands of all runs. Blocks.
    pub fn open_commands(&self) -> Vec<OpenCommand> {
        let stored = self.left_protected().filter_map(|(run, path)| {
            let stored = read(&path).transpose()?;
            Some(OpenCommand { run, path, stored })
        });
        stored.collect()
    }
}

impl OpenCommand {
    /// The run that the command belongs to.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The step or item, for messages.
    pub fn step(&self) -> &str {
        self.stored.as_ref().map_or("", |stored| &stored.step)
    }

    /// Whether the command works on the files of this folder, and not on those of a worktree or copy.
    pub fn works_in(&self, root: &Path) -> bool {
        self.stored.as_ref().ok().is_none_or(|stored| stored.root == root)
    }

    /// Whether it is still stored: a command that ended is not.
    pub fn is_stored(&self) -> bool {
        self.path.exists()
    }

    /// Whether its process was killed so long ago that nothing of it executes any more.
    pub fn is_over(&self, now: Timestamp) -> bool {
        let alive = self.stored.as_ref().ok().and_then(|stored| stored.alive);
        alive.is_some_and(|alive| now.0.saturating_sub(alive.0) > ENDS_WITHIN_MS)
    }

    /// Its process was killed, and this was its last sign of life. The first one that is told counts. Blocks.
    pub fn note_kill(&mut self, alive: impl FnOnce() -> Option<Timestamp>) {
        let Ok(stored) = &mut self.stored else { return };
        if stored.alive.is_some() {
            return;
        }
        stored.alive = alive();
        // Without it, what people change later counts as changed by the command.
        if let Err(error) = write(&self.path, stored) {
            tracing::warn!(%error, path = %self.path.display(), "the end of a command is not stored");
        }
    }

    /// The protected paths that the command changed, before its process was killed; one that says so if they cannot be
    /// known. `project` is the workspace of the project. Blocks.
    pub fn changed(&self, project: &Workspace) -> Vec<String> {
        let stored = match &self.stored {
            Ok(stored) => stored,
            Err(error) => return vec![format!("{} ({error})", self.path.display())],
        };
        let elsewhere = (stored.root != project.root()).then(|| project.rooted_at(&stored.root));
        let workspace = match &elsewhere {
            // A worktree or copy that was removed has no files that anything executes.
            Some(Err(_)) => return Vec::new(),
            Some(Ok(workspace)) => workspace,
            None => project,
        };
        let mut changes = workspace.protected_changes(stored);
        changes.retain(|change| stored.alive.is_none_or(|alive| is_before(change, alive)));
        changes.retain(|change| workspace.is_of_protected(change));
        changes.into_iter().map(|change| change.path).collect()
    }

    /// Forgets the command.
    pub fn forget(self) {
        let _ = std::fs::remove_file(self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::super::protected_watch::ProtectedWatch;
    use super::*;
    use kb_base::value::{InstanceKey, StepId};
    use kb_core::redaction::Redactor;
    use std::sync::Arc;

    /// What a person changed after the end of the killed process is no change of its command.
    #[test]
    fn only_changes_before_the_kill_count() {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = Workspace::open(root.path(), &[], &[]).unwrap();
        let states = StatesBefore::of(state.path());
        let (run, step) = (RunId::new("r1").unwrap(), StepId::new("a").unwrap());
        let before = states.of_step(&run, &InstanceKey::root(step), &Arc::new(Redactor::default()));
        let workspace = project.with_state_before(before);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        drop(runtime.block_on(ProtectedWatch::begin(&workspace, false)));
        let open = || states.open_commands().pop().unwrap();
        assert!(open().changed(&project).is_empty());
        std::fs::write(root.path().join(".envrc"), "evil").unwrap();
        assert_eq!(open().changed(&project), [".envrc"]);
        let seconds = root.path().join(".envrc").metadata().unwrap();
        let seconds = std::os::unix::fs::MetadataExt::ctime(&seconds);
        open().note_kill(|| Some(Timestamp((seconds - 10) * 1000)));
        assert!(open().changed(&project).is_empty());
        // The first sign counts.
        open().note_kill(|| Some(Timestamp(i64::MAX)));
        let command = open();
        assert!(command.changed(&project).is_empty() && command.is_stored());
        assert!(command.is_over(Timestamp(seconds * 1000 + 1)));
        assert!(!command.is_over(Timestamp(seconds * 1000)));
        assert_eq!((command.run(), command.step()), (&run, "a"));
        assert!(command.works_in(project.root()) && !command.works_in(state.path()));
        command.forget();
        assert!(states.open_commands().is_empty());
    }
}
