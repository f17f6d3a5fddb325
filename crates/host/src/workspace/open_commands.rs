//! [`OpenCommand`]: a command in the sandbox whose changes of protected paths are not recorded yet, or not undone.

use super::path_error::PathError;
use super::path_guard::Workspace;
use super::protected_watch::{is_not_compared, not_compared};
use super::state_before::{CommandPlace, FoundChanges, StatesBefore, StoredProtected};
use super::state_before::{alone, is_found, read, write_through};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, InstanceKey, RunId, Timestamp};
use kb_core::evidence::{Change, FileKind, FileState};
use kb_core::redaction::Redactor;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
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
    Found(Vec<FoundChanges>),
}

/// A change of a protected path that is neither undone nor accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenChange {
    /// The folder of a worktree or copy; `None` for the project.
    root: Option<PathBuf>,
    change: Change,
}

impl OpenChange {
    /// The path for people: in the project relative to it.
    pub fn path(&self) -> String {
        match &self.root {
            Some(root) => root.join(&self.change.path).display().to_string(),
            None => self.change.path.clone(),
        }
    }

    /// Whether it is one of the files of the project, and not of a worktree or copy.
    pub fn is_in_project(&self) -> bool {
        self.root.is_none()
    }

    /// What happened to the path, in one line.
    pub fn described(&self) -> String {
        let state = |state: &FileState| {
            let digest = state.sha256.map(|digest| format!(", sha256 {}", digest.short(8)));
            let kind = match state.kind {
                FileKind::File => format!("file of {} bytes", state.size),
                FileKind::Directory => "folder".to_owned(),
                FileKind::Symlink => "link".to_owned(),
                FileKind::Other => "special file".to_owned(),
            };
            format!("{kind}{}", digest.unwrap_or_default())
        };
        match (&self.change.before, &self.change.after) {
            _ if is_not_compared(&self.change) => "not known".to_owned(),
            (_, None) => "deleted".to_owned(),
            (None, Some(after)) => format!("created: {}", state(after)),
            (Some(_), Some(after)) => format!("changed: {}", state(after)),
        }
    }
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

    /// Says that such work executes, until the result is dropped or the process ends. Blocks.
    pub fn hold(&self, run: &RunId) -> Result<File> {
        let file = File::create(self.lock_of(run)?)?;
        file.lock_shared()?;
        Ok(file)
    }

    /// Whether such work executes.
    pub fn is_held(&self, run: &RunId) -> bool {
        let open = || OpenOptions::new().write(true).open(self.lock_of(run)?);
        let lock = || open()?.try_lock().map_err(Into::into);
        lock().is_err_and(|error: Error| error.kind() == ErrorKind::WouldBlock)
    }

    /// Such work has ended. Changes of protected paths that were found stay known.
    pub fn forget(&self, run: &RunId, instance: &InstanceKey) {
        self.of_step(run, instance, &Arc::default()).forget();
    }

    /// The commands of all runs. Blocks.
    pub fn open_commands(&self) -> Vec<OpenCommand> {
        self.left_protected().filter_map(|(run, path)| OpenCommand::read(run, path)).collect()
    }
}

impl Workspace {
    /// Refuses a command outside of the sandbox while changes of protected paths that were found are neither undone nor
    /// accepted. Blocks.
    pub(crate) fn require_none_found(&self) -> std::result::Result<(), Failure> {
        let Some(states) = &self.states else { return Ok(()) };
        for (run, path) in states.left_protected().filter(|(_, path)| is_found(path)) {
            let Some(command) = OpenCommand::read(run, path) else { continue };
            // That of a worktree is not the project.
            let project = self.rooted_at(states.project());
            let project = project.map_err(|error| PathError::io(".", error).failure())?;
            command.refusal(&command.changed(&project)).map_or(Ok(()), Err)?;
        }
        Ok(())
    }
}

impl OpenCommand {
    /// `None` if the file was removed meanwhile.
    fn read(run: RunId, path: PathBuf) -> Option<OpenCommand> {
        let stored = if is_found(&path) {
            read(&path).transpose()?.map(Stored::Found)
        } else {
            read(&path).transpose()?.map(Stored::Before)
        };
        Some(OpenCommand { run, path, stored })
    }

    /// The run that the command belongs to.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The step or item, for messages.
    pub fn step(&self) -> &str {
        let place = match &self.stored {
            Ok(Stored::Before(before)) => Some(&before.place),
            Ok(Stored::Found(found)) => found.first().map(|found| &found.place),
            Err(_) => None,
        };
        place.map_or("", |place| &place.step)
    }

    /// Whether the command has ended, and its changes were found.
    pub fn was_found(&self) -> bool {
        is_found(&self.path)
    }

    /// Whether it is still stored: a command that ended is not.
    pub fn is_stored(&self) -> bool {
        self.path.exists()
    }

    /// Whether nothing of it executes any more: its process was killed long ago, or has ended.
    fn is_over(&self, now: Timestamp) -> bool {
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
        if !matches!(&self.stored, Ok(Stored::Before(before)) if before.noticed.is_none()) {
            return;
        }
        let noticed = self.update(|stored| match stored {
            Ok(Stored::Before(before)) => before.noticed = before.noticed.or(Some(now)),
            Ok(Stored::Found(_)) | Err(_) => {}
        });
        // Without it, what people change later counts as changed by the command.
        if let Err(error) = noticed {
            tracing::warn!(%error, path = %self.path.display(), "the end of a command is not stored");
        }
    }

    /// The protected paths that the command changed and that are neither undone nor accepted; one that says so if they
    /// cannot be known. `project` is the workspace of the project. Blocks.
    pub fn changed(&self, project: &Workspace) -> Vec<OpenChange> {
        let here = |place: &CommandPlace, look: &dyn Fn(&Workspace) -> Vec<Change>| {
            let changes = match &place.root {
                None => look(project),
                // A worktree or copy that was removed has no files that anything executes.
                Some(root) => project.rooted_at(root).map(|tree| look(&tree)).unwrap_or_default(),
            };
            let root = place.root.clone();
            changes.into_iter().map(move |change| OpenChange { root: root.clone(), change })
        };
        match &self.stored {
            Ok(Stored::Before(before)) => {
                let left = |workspace: &Workspace| {
                    let mut changes = workspace.left_of_protected(before);
                    changes.retain(|change| workspace.is_of_protected(change));
                    changes
                };
                here(&before.place, &left).collect()
            }
            Ok(Stored::Found(found)) => {
                let here = |found: &FoundChanges| {
                    here(&found.place, &|workspace| workspace.not_undone(found.changes.clone()))
                };
                found.iter().flat_map(here).collect()
            }
            Err(error) => {
                let change = not_compared(&format!("{} ({error})", self.path.display()));
                vec![OpenChange { root: None, change }]
            }
        }
    }

    /// Why nothing starts while the command left these changes; `None` if there are none.
    pub fn refusal(&self, changed: &[OpenChange]) -> Option<Failure> {
        let named = named(changed.iter().map(OpenChange::path))?;
        let (step, run) = (self.step(), &self.run);
        let message = format!(
            "step `{step}` of run `{run}` executed a command that changed protected paths: {named}"
        );
        let help = "undo the change, or accept it: `kb doctor --accept`";
        Some(Failure::new(Code::PATH_PROTECTED, message).help(help))
    }

    /// A person accepts these changes as they were shown: their paths count as before the command from now on. Blocks.
    pub fn accept(&mut self, shown: &[OpenChange]) -> Result<()> {
        self.update(|stored| match stored {
            Ok(Stored::Before(before)) => {
                for OpenChange { change, .. } in shown {
                    match &change.after {
                        _ if is_not_compared(change) => before.files.truncated = true,
                        Some(after) => {
                            before.files.files.insert(change.path.clone(), after.clone());
                        }
                        None => drop(before.files.files.remove(&change.path)),
                    }
                }
            }
            Ok(Stored::Found(found)) => {
                for FoundChanges { changes, place } in found {
                    let of = |change: &Change| {
                        let same = |open: &&OpenChange| {
                            open.root == place.root && open.change.path == change.path
                        };
                        shown.iter().find(same)
                    };
                    changes.retain(|change| !(is_not_compared(change) && of(change).is_some()));
                    for change in changes.iter_mut() {
                        if let Some(open) = of(change) {
                            change.before.clone_from(&open.change.after);
                        }
                    }
                }
            }
            // It is not known again.
            Err(_) => {}
        })?;
        match self.stored {
            Ok(_) => Ok(()),
            Err(_) => std::fs::remove_file(&self.path),
        }
    }

    /// Forgets the command if nothing of it executes and none of its changes is left. Blocks.
    pub fn forget_if_undone(mut self, project: &Workspace, now: Timestamp) {
        let Ok(_alone) = alone(self.path.parent().unwrap_or(Path::new(""))) else { return };
        let Some(present) = OpenCommand::read(self.run.clone(), self.path.clone()) else { return };
        self.stored = present.stored;
        if self.is_over(now) && self.changed(project).is_empty() {
            let _ = std::fs::remove_file(self.path);
        }
    }

    /// Changes what is stored now, which no other process does meanwhile.
    fn update(&mut self, change: impl FnOnce(&mut Result<Stored>)) -> Result<()> {
        let _alone = alone(self.path.parent().unwrap_or(Path::new("")))?;
        let Some(present) = OpenCommand::read(self.run.clone(), self.path.clone()) else {
            return Ok(());
        };
        self.stored = present.stored;
        change(&mut self.stored);
        match &self.stored {
            Ok(Stored::Before(before)) => write_through(&self.path, before),
            Ok(Stored::Found(found)) => write_through(&self.path, found),
            Err(_) => Ok(()),
        }
    }
}

/// Paths for a message; of many, the first.
pub(crate) fn named(paths: impl ExactSizeIterator<Item = String>) -> Option<String> {
    const SHOWN: usize = 20;
    let more = match paths.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<String> = paths.take(SHOWN).map(|path| format!("`{path}`")).collect();
    (!shown.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
}

#[cfg(test)]
mod tests;
