//! [`StateBefore`]: the state of files before a step changes them, stored until the change is recorded, so
//! that a later process knows what a killed one changed.

use kb_base::value::{Digest, InstanceKey, RunId, Timestamp};
use kb_core::evidence::{Change, FileState, Manifest};
use kb_core::redaction::Redactor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How the names of the files with protected paths end.
const PROTECTED: &str = "protected";
/// How the names of those with changes of protected paths end.
const FOUND: &str = "found";
/// Held while a file with changes is read and written. It belongs to no run.
const LOCK: &str = ".lock";

/// The folder for the states before the steps of all runs of a project. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StatesBefore {
    home: PathBuf,
    /// The folder of the project.
    project: PathBuf,
}

impl StatesBefore {
    /// The folder in the state folder of a project.
    pub fn of(state_dir: &Path, project: &Path) -> StatesBefore {
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        StatesBefore { home: state_dir.join("before"), project }
    }

    /// The state folder of the project.
    pub(crate) fn state_dir(&self) -> &Path {
        self.home.parent().unwrap_or(&self.home)
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
            project: self.project.clone(),
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

    /// Removes what ended runs left, but for what is known of protected paths.
    pub fn sweep(&self, has_ended: impl Fn(&RunId) -> bool) {
        for (run, path) in self.left() {
            if has_ended(&run) && !has_extension(&path, PROTECTED) && !is_found(&path) {
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// The file that is locked while work without a run executes. It belongs to no run.
    pub(super) fn lock_of(&self, run: &RunId) -> Result<PathBuf> {
        std::fs::create_dir_all(&self.home)?;
        Ok(self.home.join(format!(".{run}.lock")))
    }

    /// The folder of the project.
    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    /// The files with protected paths, each with its run.
    pub(super) fn left_protected(&self) -> impl Iterator<Item = (RunId, PathBuf)> {
        self.left().filter(|(_, path)| is_found(path) || has_extension(path, PROTECTED))
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

/// Whether the file has the changes that were found.
pub(super) fn is_found(path: &Path) -> bool {
    has_extension(path, FOUND)
}

fn has_extension(path: &Path, expected: &str) -> bool {
    path.extension().is_some_and(|extension| extension == expected)
}

/// Where the state before the present call of a step is stored, and beside it that of the protected paths. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub(crate) struct StateBefore {
    path: PathBuf,
    /// The folder of the project.
    project: PathBuf,
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
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct StoredProtected {
    /// The code sources, relative to the workspace.
    pub(super) sources: Vec<String>,
    /// Whether the command may write to repositories.
    pub(super) git_is_open: bool,
    pub(super) files: Manifest,
    /// When the process that executed it was first found killed.
    pub(super) noticed: Option<Timestamp>,
    pub(super) place: CommandPlace,
}

/// Protected paths that commands changed in one place. They are known until people undo or accept the changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct FoundChanges {
    pub(super) changes: Vec<Change>,
    pub(super) place: CommandPlace,
}

/// Where a command was executed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommandPlace {
    /// The step or item.
    pub(super) step: String,
    /// The folder of a worktree or copy; `None` for the project, which may be moved.
    pub(super) root: Option<PathBuf>,
}

impl StateBefore {
    /// Stores the protected paths before a command that may not change them. Without it, the command must not start.
    pub(super) fn store_protected(&self, state: StoredProtected, root: &Path) -> Result<()> {
        let (files, place) = (self.public(&state.files), self.place(root));
        write(&self.of_protected(), &StoredProtected { files, place, ..state })
    }

    /// Keeps changes of protected paths that a command made in a folder, with those that were kept before.
    pub(crate) fn keep_found(&self, changes: &[Change], root: &Path) {
        if let Err(error) = self.add_found(changes, root) {
            tracing::warn!(%error, "changes of protected paths are not stored");
            // What was stored before the command is kept instead. On a full disk this succeeds too.
            let kept = self.path.with_extension(format!("kept.{PROTECTED}"));
            let _ = std::fs::rename(self.of_protected(), kept);
        }
    }

    fn add_found(&self, changes: &[Change], root: &Path) -> Result<()> {
        let home = self.path.parent().unwrap_or(Path::new(""));
        let _alone = alone(home)?;
        let mut found = self.found()?;
        let place = self.place(root);
        let at = found.iter().position(|found| found.place.root == place.root);
        let mut all = match at {
            Some(at) => found.swap_remove(at),
            None => FoundChanges { place, ..FoundChanges::default() },
        };
        for new in changes.iter().filter(|change| self.is_public(&change.path)) {
            match all.changes.iter_mut().find(|known| known.path == new.path) {
                // It is undone when it is as before the first change.
                Some(known) => known.after.clone_from(&new.after),
                None => all.changes.push(new.clone()),
            }
        }
        found.push(all);
        write_through(&self.of_found(), &found)
    }

    /// The changes of protected paths that were kept.
    pub(super) fn found(&self) -> Result<Vec<FoundChanges>> {
        read(&self.of_found()).map(Option::unwrap_or_default)
    }

    fn of_found(&self) -> PathBuf {
        self.path.with_extension(FOUND)
    }

    pub(super) fn place(&self, root: &Path) -> CommandPlace {
        let root = (root != self.project).then(|| root.to_owned());
        CommandPlace { step: self.step.clone(), root }
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

    /// Without the stored state a killed call leaves changes of unknown origin.
    fn store(&self, path: &Path, state: &impl Serialize) {
        if let Err(error) = write(path, state) {
            tracing::warn!(%error, path = %path.display(), "the state before a step is not stored");
        }
    }

    /// What is stored; `None` if no call of the step was left.
    pub(super) fn stored(&self) -> Result<Option<StoredState>> {
        read(&self.path)
    }

    /// The changes of the last call are recorded. Those of protected paths that were found stay known.
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

/// The same, and what is written outlasts the machine.
pub(super) fn write_through(path: &Path, state: &impl Serialize) -> Result<()> {
    write(path, state)?;
    File::open(path)?.sync_all()?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Until this is dropped, no other process changes what was found in the folder. Blocks.
pub(super) fn alone(home: &Path) -> Result<File> {
    std::fs::create_dir_all(home)?;
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(home.join(LOCK))?;
    lock.lock()?;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(folder: &Path, masks: &Arc<Redactor>) -> StateBefore {
        let step = kb_base::value::StepId::new("write").unwrap();
        let (run, instance) = (RunId::new("r1").unwrap(), InstanceKey::root(step));
        StatesBefore::of(folder, folder).of_step(&run, &instance, masks)
    }

    /// The files of the workspace and the protected paths are read at the same time.
    #[test]
    fn states_that_are_stored_at_the_same_time_are_not_mixed_up() {
        let folder = tempfile::tempdir().unwrap();
        let before = before(folder.path(), &Arc::default());
        for _ in 0..100 {
            std::thread::scope(|scope| {
                scope.spawn(|| before.store_all(&Manifest::default(), &[]));
                let state = StoredProtected::default();
                scope.spawn(|| before.store_protected(state, folder.path()).unwrap());
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
