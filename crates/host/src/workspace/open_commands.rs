//! [`OpenCommand`]: a command in the sandbox whose changes of protected paths are not recorded yet, or not undone.

use super::path_guard::Workspace;
use super::state_before::{CommandPlace, FoundChanges, StatesBefore, StoredProtected, read, write};
use kb_base::value::{InstanceKey, RunId, Timestamp};
use kb_core::redaction::Redactor;
use std::io::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// Time in which the processes of a killed `kb` end, at most.
const ENDS_WITHIN_MS: i64 = 10_000;

/// A command in the sandbox with the protected paths before it: it executes now, or its process was killed. Or the
/// changes that were found after it.
#[derive(Debug)]
pub struct OpenCommand {
    run: RunId,
    path: PathBuf,
    stored: Result<Stored>,
}

#[derive(Debug)]
enum Stored {
    Before(StoredProtected),
    Found(FoundChanges),
}

impl StatesBefore {
    /// A workspace for work without a run: what it was before is stored under these names until it is forgotten.
    pub fn watching(
        &self,
        workspace: &Workspace,
        run: &RunId,
        instance: &InstanceKey,
        masks: &Arc<Redactor>,
    ) -> Workspace {
        workspace.with_state_before(self.of_step(run, instance, masks))
    }

    /// Such work has ended. Changes of protected paths that were found stay known.
    pub fn forget(&self, run: &RunId, instance: &InstanceKey) {
        self.of_step(run, instance, &Arc::default()).forget();
    }

    /// The commands of all runs. Blocks.
    pub fn open_commands(&self) -> Vec<OpenCommand> {
        let stored = self.left_protected().filter_map(|(run, path, is_found)| {
            let stored = match is_found {
                true => read(&path).transpose()?.map(Stored::Found),
                false => read(&path).transpose()?.map(Stored::Before),
            };
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

    fn place(&self) -> Option<&CommandPlace> {
        self.stored.as_ref().ok().map(|stored| match stored {
            Stored::Before(before) => &before.place,
            Stored::Found(found) => &found.place,
        })
    }

    /// The step or item, for messages.
    pub fn step(&self) -> &str {
        self.place().map_or("", |place| &place.step)
    }

    /// Whether the command works on the files of the project, and not on those of a worktree or copy.
    pub fn works_in_project(&self) -> bool {
        self.place().is_none_or(|place| place.root.is_none())
    }

    /// Whether the command has ended, and its changes were found.
    pub fn was_found(&self) -> bool {
        matches!(self.stored, Ok(Stored::Found(_)))
    }

    /// Whether it is still stored: a command that ended is not.
    pub fn is_stored(&self) -> bool {
        self.path.exists()
    }

    /// Whether nothing of it executes any more: its process was killed long ago, or has ended.
    pub fn is_over(&self, now: Timestamp) -> bool {
        match &self.stored {
            Ok(Stored::Before(before)) => before
                .noticed
                .is_some_and(|noticed| now.0.saturating_sub(noticed.0) > ENDS_WITHIN_MS),
            Ok(Stored::Found(_)) => true,
            Err(_) => false,
        }
    }

    /// Its process was killed, and this is noticed now. The first moment that is told counts. Blocks.
    pub fn note_kill(&mut self, now: Timestamp) {
        let Ok(Stored::Before(before)) = &mut self.stored else { return };
        if before.noticed.is_some() {
            return;
        }
        before.noticed = Some(now);
        // Without it, what people change later counts as changed by the command.
        if let Err(error) = write(&self.path, before) {
            tracing::warn!(%error, path = %self.path.display(), "the end of a command is not stored");
        }
    }

    /// The protected paths that the command changed and that are not undone; one that says so if they cannot be known.
    /// `project` is the workspace of the project. Blocks.
    pub fn changed(&self, project: &Workspace) -> Vec<String> {
        let stored = match &self.stored {
            Ok(stored) => stored,
            Err(error) => return vec![format!("{} ({error})", self.path.display())],
        };
        let root = self.place().and_then(|place| place.root.as_deref());
        let elsewhere = root.map(|root| project.rooted_at(root));
        let workspace = match &elsewhere {
            // A worktree or copy that was removed has no files that anything executes.
            Some(Err(_)) => return Vec::new(),
            Some(Ok(workspace)) => workspace,
            None => project,
        };
        let mut changes = match stored {
            Stored::Before(before) => workspace.left_of_protected(before),
            Stored::Found(found) => workspace.as_left(found.clone()),
        };
        changes.retain(|change| workspace.is_of_protected(change));
        let shown = |path: String| match root {
            Some(root) => root.join(path).display().to_string(),
            None => path,
        };
        changes.into_iter().map(|change| shown(change.path)).collect()
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
    use kb_base::value::StepId;
    use std::os::unix::fs::MetadataExt;

    struct Story {
        root: tempfile::TempDir,
        state: tempfile::TempDir,
        project: Workspace,
    }

    impl Story {
        /// A project with a command that is executed.
        fn new() -> (Story, Workspace, ProtectedWatch) {
            let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let project = Workspace::open(root.path(), &[], &[]).unwrap();
            let story = Story { root, state, project };
            let (run, step) = (RunId::new("r1").unwrap(), StepId::new("a").unwrap());
            let masks = Arc::new(Redactor::default());
            let before = story.states().of_step(&run, &InstanceKey::root(step), &masks);
            let workspace = story.project.with_state_before(before);
            let watch = wait(ProtectedWatch::begin(&workspace, false));
            (story, workspace, watch)
        }

        fn states(&self) -> StatesBefore {
            StatesBefore::of(self.state.path(), self.root.path())
        }

        fn open(&self) -> OpenCommand {
            self.states().open_commands().pop().unwrap()
        }

        fn write(&self, path: &str) {
            std::fs::write(self.root.path().join(path), "evil").unwrap();
        }
    }

    fn wait<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    /// A command continues while `kb` is stopped and until it is killed, however long that takes. What a person changes after
    /// the end was noticed is no change of the command.
    #[test]
    fn changes_until_the_end_is_noticed_count() {
        let (story, _, watch) = Story::new();
        drop(watch);
        assert!(story.open().changed(&story.project).is_empty());
        story.write(".envrc");
        assert_eq!(story.open().changed(&story.project), [".envrc"]);
        let changed = story.root.path().join(".envrc").metadata().unwrap().ctime();
        story.open().note_kill(Timestamp((changed - 10) * 1000));
        assert!(story.open().changed(&story.project).is_empty());
        // The first moment counts.
        story.open().note_kill(Timestamp(i64::MAX));
        let command = story.open();
        assert!(command.changed(&story.project).is_empty() && command.is_stored());
        assert!(command.is_over(Timestamp(changed * 1000 + 1)));
        assert!(!command.is_over(Timestamp(changed * 1000)));
        assert_eq!((command.run().as_str(), command.step()), ("r1", "a"));
        assert!(command.works_in_project() && !command.was_found());
        command.forget();
        assert!(story.states().open_commands().is_empty());
    }

    /// What was found stays known after the result of the command is recorded, until people undo it or save it again.
    #[test]
    fn found_changes_are_known_until_they_are_undone() {
        let (story, workspace, watch) = Story::new();
        story.write(".envrc");
        std::fs::create_dir(story.root.path().join("playbooks")).unwrap();
        story.write("playbooks/p.yml");
        let changes = wait(watch.end());
        let before = workspace.state_before().unwrap();
        let failed = || wait(crate::tool::protected_failure(&changes, &workspace, Some(before)));
        assert!(failed().is_some());
        before.forget();
        let command = story.open();
        assert!(command.was_found() && command.is_over(Timestamp(0)) && command.step() == "a");
        assert_eq!(command.changed(&story.project), [".envrc", "playbooks/p.yml"]);
        // The step itself knows it too when it is continued.
        let known = story.project.protected_left_by_killed(before).unwrap();
        assert_eq!(known.len(), 2);
        story.write(".envrc");
        std::fs::remove_file(story.root.path().join("playbooks/p.yml")).unwrap();
        assert!(story.open().changed(&story.project).is_empty());
        assert!(story.project.protected_left_by_killed(before).unwrap().is_empty());
    }

    /// A project may be moved with its state.
    #[test]
    fn changes_are_known_where_the_project_was_moved() {
        let (story, _, watch) = Story::new();
        drop(watch);
        let moved = story.state.path().join("moved");
        std::fs::create_dir(&moved).unwrap();
        std::fs::write(moved.join(".envrc"), "evil").unwrap();
        let project = Workspace::open(&moved, &[], &[]).unwrap();
        assert!(story.open().works_in_project());
        assert_eq!(story.open().changed(&project), [".envrc"]);
    }
}
