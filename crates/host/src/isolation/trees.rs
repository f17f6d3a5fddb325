//! [`Trees`]: the worktrees and copies of the steps of one project.

use super::base::{Base, TreePaths, read_json};
use super::failures::{joined, unusable};
use crate::git::Git;
use crate::workspace::Workspace;
use kb_attempt::TreeRequest;
use kb_base::value::{Digest, Failure, RunId};
use kb_core::evidence::MergedTree;
use kb_process::Supervisor;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The folder of all trees of a project, beside its state folder.
pub fn home_of(state_dir: &Path) -> PathBuf {
    let mut name = state_dir.file_name().unwrap_or_default().to_owned();
    name.push(".trees");
    state_dir.with_file_name(name)
}

/// The worktrees and copies of the steps of one project. Cheap to clone.
#[derive(Clone)]
pub struct Trees {
    pub(super) project: Workspace,
    pub(super) home: PathBuf,
    pub(super) git: Git,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Only one tree is made or merged at a time.
    turn: tokio::sync::Mutex<()>,
    /// The locks that tell other processes which runs are live.
    live: Mutex<BTreeMap<RunId, File>>,
}

/// The worktree or copy of one step or item.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The files, as the path guard sees them.
    pub workspace: Workspace,
}

impl Trees {
    /// The trees of a project. `home` is [`home_of`] its state folder.
    pub fn new(project: Workspace, home: PathBuf, supervisor: Supervisor) -> Trees {
        let git = Git::new(&supervisor);
        Trees { project, home, git, shared: Arc::default() }
    }

    /// The trees of steps in a tree, for the child run of a step in a worktree or copy.
    #[must_use]
    pub fn within(&self, tree: &Tree) -> Trees {
        Trees { project: tree.workspace.clone(), ..self.clone() }
    }

    /// The tree of a step or item. It is made if it does not exist or is not complete.
    pub async fn open(&self, request: &TreeRequest) -> Result<Tree, Box<Failure>> {
        let paths = self.paths(request);
        let _turn = self.shared.turn.lock().await;
        self.keep_alive(&request.run, &paths.run).map_err(|error| unusable(&paths.run, &error))?;
        if !self.is_complete(&paths)? {
            self.discard(&paths).await;
            if let Err(failure) = self.create(request, &paths).await {
                self.discard(&paths).await;
                return Err(failure);
            }
        }
        self.tree(&paths)
    }

    /// The tree of a step or item that an attempt has made; `None` if there is none.
    pub async fn find(&self, request: &TreeRequest) -> Result<Option<Tree>, Box<Failure>> {
        let paths = self.paths(request);
        if self.is_complete(&paths)? { self.tree(&paths).map(Some) } else { Ok(None) }
    }

    /// Merges trees into the project, in this order. Each is merged whole or not at all. Returns what
    /// became of each, and why not all were merged.
    ///
    /// With `may_miss`, a tree that does not exist has nothing to merge.
    pub async fn merge(
        &self,
        requests: Vec<TreeRequest>,
        may_miss: bool,
    ) -> (Vec<MergedTree>, Option<Failure>) {
        let _turn = self.shared.turn.lock().await;
        let locked = self.lock_merges().await;
        let (mut done, mut failures) = (Vec::new(), Vec::new());
        if let Err(error) = &locked {
            failures.push(*unusable(&self.home, error));
        }
        for request in &requests {
            if locked.is_err() {
                break;
            }
            let paths = self.paths(request);
            match self.merge_one(request, &paths, may_miss).await {
                Ok((tree, failure)) => {
                    done.push(tree);
                    failures.extend(failure);
                }
                Err(failure) => {
                    let instance = request.instance.to_string();
                    let kept = paths.files().exists().then(|| paths.files().display().to_string());
                    done.push(MergedTree { instance, kept, ..MergedTree::default() });
                    failures.push(*failure);
                }
            }
        }
        (done, joined(failures))
    }

    pub(super) fn paths(&self, request: &TreeRequest) -> TreePaths {
        let key = request.instance.to_string();
        let step: String = key.chars().take_while(|c| *c != '[').take(40).collect();
        let name = if key == step { step } else { format!("{step}-{}", Digest::of(&key).short(6)) };
        let name = format!("{name}.{}", request.iteration);
        TreePaths::new(self.home.join(request.run.as_str()), name)
    }

    pub(super) fn tree(&self, paths: &TreePaths) -> Result<Tree, Box<Failure>> {
        let workspace = self.project.rooted_at(&paths.files());
        let workspace = workspace.map_err(|error| unusable(&paths.files(), &error))?;
        Ok(Tree { workspace })
    }

    fn is_complete(&self, paths: &TreePaths) -> Result<bool, Box<Failure>> {
        let base = read_json::<Base>(&paths.base());
        let base = base.map_err(|error| unusable(&paths.base(), &error))?;
        Ok(base.is_some() && paths.files().is_dir())
    }

    /// Holds a lock while this process uses the trees of a run, so that no other removes them.
    fn keep_alive(&self, run: &RunId, folder: &Path) -> io::Result<()> {
        let mut live = self.shared.live.lock().unwrap_or_else(PoisonError::into_inner);
        if live.contains_key(run) {
            return Ok(());
        }
        loop {
            std::fs::create_dir_all(folder)?;
            let lock = File::open(folder)?;
            flock(&lock, FlockOperation::LockShared)?;
            // Another process may have removed it before it was locked.
            if folder.is_dir() {
                live.insert(run.clone(), lock);
                return Ok(());
            }
        }
    }

    /// Ends the use of all trees by this process, also for clones that a task which ends still has.
    pub fn let_go(&self) {
        self.shared.live.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Waits until no other process merges into the project.
    async fn lock_merges(&self) -> io::Result<File> {
        let path = self.home.join("merging");
        std::fs::create_dir_all(&self.home)?;
        let lock = File::create(path)?;
        let locked = tokio::task::spawn_blocking(move || {
            flock(&lock, FlockOperation::LockExclusive).map(|()| lock)
        });
        Ok(locked.await.map_err(io::Error::other)??)
    }

    /// Removes a tree and what `git` knows of it.
    pub(super) async fn discard(&self, paths: &TreePaths) {
        let _ = std::fs::remove_file(paths.base());
        self.discard_files(&paths.files()).await;
    }

    /// Removes the files of a tree and what `git` knows of it.
    pub(super) async fn discard_files(&self, files: &Path) {
        if self.project.root().join(".git").exists() {
            let root = self.project.root();
            let path = files.to_string_lossy().into_owned();
            let args = ["worktree", "remove", "--force", "--force", &path];
            let _ = self.git.run(root, &args).await;
        }
        let files = files.to_owned();
        let _ = tokio::task::spawn_blocking(move || remove_all(&files)).await;
    }
}

/// Removes a folder, also read-only folders below it.
pub(super) fn remove_all(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        other => return other,
    }
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        let mode = std::fs::Permissions::from_mode(0o700);
        let _ = std::fs::set_permissions(&at, mode);
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    std::fs::remove_dir_all(folder)
}
