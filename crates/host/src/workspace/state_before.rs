//! [`StateBefore`]: the state of files before a step changes them, stored until the change is recorded, so
//! that a later process knows what a killed one changed.

use kb_base::value::{Digest, InstanceKey, RunId, Timestamp};
use kb_core::evidence::{FileState, Manifest};
use kb_core::redaction::Redactor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How the names of the files with protected paths end.
const PROTECTED: &str = "protected";

/// The folder for the states before the steps of all runs of a project. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StatesBefore {
    home: PathBuf,
}

impl StatesBefore {
    /// The folder in a state folder.
    pub fn of(state_dir: &Path) -> StatesBefore {
        StatesBefore { home: state_dir.join("before") }
    }

    /// Where the state before a step or item is stored.
    pub(crate) fn of_step(
        &self,
        run: &RunId,
        instance: &InstanceKey,
        masks: &Arc<Redactor>,
    ) -> StateBefore {
        let name = format!("{run}.{}.before", Digest::of(instance.to_string()).short(6));
        StateBefore {
            path: self.home.join(name),
            step: instance.to_string(),
            paths: Arc::default(),
            masks: masks.clone(),
            is_gate: false,
        }
    }

    /// Where that before the gate of a step or item is stored: its protected paths alone.
    pub(crate) fn of_gate(
        &self,
        run: &RunId,
        instance: &InstanceKey,
        masks: &Arc<Redactor>,
    ) -> StateBefore {
        let of_step = self.of_step(run, instance, masks);
        StateBefore { path: of_step.path.with_extension("gate.before"), is_gate: true, ..of_step }
    }

    /// Removes what ended runs left, but for the protected paths before their commands.
    pub fn sweep(&self, has_ended: impl Fn(&RunId) -> bool) {
        for (run, path) in self.left() {
            if has_ended(&run) && !is_of_protected(&path) {
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// The stored protected paths, each with its run.
    pub(super) fn left_protected(&self) -> impl Iterator<Item = (RunId, PathBuf)> {
        self.left().filter(|(_, path)| is_of_protected(path))
    }

    /// The stored files, each with its run.
    fn left(&self) -> impl Iterator<Item = (RunId, PathBuf)> {
        let entries = std::fs::read_dir(&self.home).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let run = name.split('.').next().and_then(|run| RunId::new(run).ok())?;
            Some((run, entry.path()))
        })
    }
}

fn is_of_protected(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == PROTECTED)
}

/// Where the state before the present call of a step is stored, and beside it that of the protected paths. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub(crate) struct StateBefore {
    path: PathBuf,
    /// The name of the step or item.
    step: String,
    /// The paths that file tools change.
    paths: Arc<Mutex<BTreeMap<String, Option<FileState>>>>,
    /// Knows the secrets: no name with one is stored.
    masks: Arc<Redactor>,
    /// Only protected paths are stored.
    is_gate: bool,
}

/// What is known of the time before a call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum StoredState {
    /// All files, for a process. Those in `racy` may change without a change of their stat data.
    All { files: Manifest, racy: Vec<String> },
    /// The paths that a file tool changes.
    Paths(BTreeMap<String, Option<FileState>>),
}

/// The protected paths before a command in the sandbox, and how they were found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredProtected {
    /// The code sources, relative to the workspace.
    pub(super) sources: Vec<String>,
    /// Whether the command may write to repositories.
    pub(super) git_is_open: bool,
    pub(super) files: Manifest,
    /// The folder of these files: the project, or a worktree or copy.
    pub(super) root: PathBuf,
    /// The step or item that executes the command.
    pub(super) step: String,
    /// The last sign of life of the process that executed it, once it was found killed.
    pub(super) alive: Option<Timestamp>,
}

impl StateBefore {
    /// Stores the protected paths before a command that may not change them.
    pub(super) fn store_protected(&self, state: StoredProtected) {
        let (files, step) = (self.public(&state.files), self.step.clone());
        self.store(&self.of_protected(), &StoredProtected { files, step, ..state });
    }

    /// The protected paths before the last command, if they are stored.
    pub(super) fn stored_protected(&self) -> Result<Option<StoredProtected>> {
        read(&self.of_protected())
    }

    fn of_protected(&self) -> PathBuf {
        self.path.with_extension(PROTECTED)
    }

    /// Stores the state before a process that may change all files. A name with a secret is not stored: its file counts
    /// as new after a kill.
    pub(super) fn store_all(&self, files: &Manifest, racy: &[String]) {
        if self.is_gate {
            return;
        }
        let files = self.public(files);
        let racy = racy.iter().filter(|name| self.is_public(name)).cloned().collect();
        self.store(&self.path, &StoredState::All { files, racy });
    }

    /// The files without those whose names have a secret.
    fn public(&self, all: &Manifest) -> Manifest {
        let files = all.files.iter().filter(|(name, _)| self.is_public(name));
        let files = files.map(|(name, state)| (name.clone(), state.clone())).collect();
        Manifest { files, truncated: all.truncated }
    }

    fn is_public(&self, name: &str) -> bool {
        self.masks.mask_text(name) == name
    }

    /// Stores the state before a file tool changes a path. One whose name has a secret is not stored: after a kill, a
    /// change of it is of unknown origin.
    pub(super) fn store_path(&self, path: &str, state: Option<FileState>) {
        if self.is_gate || !self.is_public(path) {
            return;
        }
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.entry(path.to_owned()).or_insert(state);
        self.store(&self.path, &StoredState::Paths(paths.clone()));
    }

    /// Without the stored state a killed call leaves changes of unknown origin, as on a full disk.
    fn store(&self, path: &Path, state: &impl Serialize) {
        if let Err(error) = write(path, state) {
            tracing::warn!(%error, path = %path.display(), "the state before a step is not stored");
        }
    }

    /// What is stored; `None` if no call of the step was left.
    pub(super) fn stored(&self) -> Result<Option<StoredState>> {
        read(&self.path)
    }

    /// The changes of the last call are recorded.
    pub(crate) fn forget(&self) {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(self.of_protected());
    }
}

pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| Error::new(ErrorKind::InvalidData, error)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file whole or not at all.
pub(super) fn write(path: &Path, state: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec(state).map_err(Error::other)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Several states are stored at the same time.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{process}-{count}.new"));
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(folder: &Path, masks: &Arc<Redactor>) -> StateBefore {
        let step = kb_base::value::StepId::new("write").unwrap();
        let (run, instance) = (RunId::new("r1").unwrap(), InstanceKey::root(step));
        StatesBefore::of(folder).of_step(&run, &instance, masks)
    }

    /// The files of the workspace and the protected paths are read at the same time.
    #[test]
    fn states_that_are_stored_at_the_same_time_are_not_mixed_up() {
        let folder = tempfile::tempdir().unwrap();
        let before = before(folder.path(), &Arc::default());
        for _ in 0..100 {
            std::thread::scope(|scope| {
                scope.spawn(|| before.store_all(&Manifest::default(), &[]));
                let (files, root) = (Manifest::default(), PathBuf::new());
                let (sources, step, git_is_open, alive) = (Vec::new(), String::new(), false, None);
                let state = StoredProtected { sources, git_is_open, files, root, step, alive };
                scope.spawn(|| before.store_protected(state));
            });
            assert!(before.stored().unwrap().is_some());
            assert!(before.stored_protected().unwrap().is_some());
        }
    }

    #[test]
    fn a_name_with_a_secret_is_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let masks = Arc::new(Redactor::default());
        assert!(masks.add("token", "hunter2hunter2"));
        let before = before(folder.path(), &masks);
        before.store_path("plain.txt", None);
        before.store_path("of-hunter2hunter2.txt", None);
        let stored = std::fs::read_to_string(&before.path).unwrap();
        assert!(stored.contains("plain.txt") && !stored.contains("hunter2"), "{stored}");
    }
}
