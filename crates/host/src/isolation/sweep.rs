//! Removes the trees that no run needs any more.

use super::base::{Base, read_json};
use super::trees::{Trees, remove_all};
use kb_base::value::RunId;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::{Path, PathBuf};

/// What a run still needs of its trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The run may continue.
    All,
    /// The run has ended and can be retried; trees whose changes were not merged stay.
    Unmerged,
    /// The run has succeeded; trees that are not to be merged (`merge: none`) stay.
    Unmergeable,
    /// The run does not exist any more.
    Nothing,
}

/// A tree that stays after the end of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Id of the run that created it.
    pub run: RunId,
    /// The step or item.
    pub instance: String,
    /// The folder with the files of the step.
    pub path: PathBuf,
}

impl Trees {
    /// Removes what no run needs any more: incomplete and merged trees of ended runs, and all trees
    /// of removed runs. Runs that a process uses are left alone. Returns the trees that stay.
    pub async fn sweep(&self, need: impl Fn(&RunId) -> Need) -> Vec<Leftover> {
        let mut left = Vec::new();
        for entry in std::fs::read_dir(&self.home).into_iter().flatten().flatten() {
            let Some(run) = entry.file_name().to_str().and_then(|name| RunId::new(name).ok())
            else {
                continue;
            };
            let folder = entry.path();
            let Some(_lock) = unused(&folder) else { continue };
            left.extend(match need(&run) {
                Need::All => of_run(&run, &folder),
                Need::Unmerged => self.sweep_run(&run, &folder, &|_| true).await,
                Need::Unmergeable => self.sweep_run(&run, &folder, &|base| base.stays).await,
                Need::Nothing => self.sweep_run(&run, &folder, &|_| false).await,
            });
        }
        left
    }

    /// The trees that a run has now.
    pub fn of_run(&self, run: &RunId) -> Vec<Leftover> {
        of_run(run, &self.home.join(run.as_str()))
    }

    async fn sweep_run(
        &self,
        run: &RunId,
        folder: &Path,
        stays: &(dyn Fn(&Base) -> bool + Sync),
    ) -> Vec<Leftover> {
        let kept = of_run_where(run, folder, stays);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_tree = path.is_dir() && path.file_name().is_some_and(|name| name != "base");
            if is_tree && !kept.iter().any(|tree| tree.path == path) {
                self.discard_files(&path).await;
            }
        }
        if kept.is_empty() {
            let folder = folder.to_owned();
            let _ = tokio::task::spawn_blocking(move || remove_all(&folder)).await;
        }
        kept
    }
}

/// The lock of a run that no process uses.
fn unused(folder: &Path) -> Option<File> {
    let lock = File::open(folder).ok().filter(|_| folder.is_dir())?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok().map(|()| lock)
}

/// The complete trees of a run that were not merged.
fn of_run(run: &RunId, folder: &Path) -> Vec<Leftover> {
    of_run_where(run, folder, &|_| true)
}

fn of_run_where(run: &RunId, folder: &Path, stays: &dyn Fn(&Base) -> bool) -> Vec<Leftover> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let base = read_json::<Base>(&path.with_file_name(beside(&path, "json")));
        if let (true, Ok(Some(base))) = (path.is_dir(), base) {
            let merged = path.with_file_name(beside(&path, "merged.json")).exists();
            if !merged && stays(&base) {
                found.push(Leftover { run: run.clone(), instance: base.instance, path });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The name of a file that belongs to a tree.
fn beside(tree: &Path, suffix: &str) -> String {
    format!("{}.{suffix}", tree.file_name().unwrap_or_default().to_string_lossy())
}
