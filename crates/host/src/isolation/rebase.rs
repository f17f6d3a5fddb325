//! `merge: rebase`: the commits of a worktree, and its other changes as one commit, are put onto the
//! current branch of the project.

use super::base::{Base, TreePaths, read_json, write_json};
use super::failures::{blocking, unusable};
use super::plan::{MergePlan, whole};
use super::trees::{Tree, Trees};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::evidence::{FileKind, Manifest, MergedTree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

type Merging<T> = Result<T, Box<Failure>>;

/// What a rebase has found, stored before the project changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Rebased {
    /// The last commit of the project before.
    head: String,
    /// The last commit after.
    tip: String,
    /// The new commits, oldest first.
    commits: Vec<String>,
    /// The paths that they change.
    changed: BTreeSet<String>,
}

impl Trees {
    /// Rebases the commits of a worktree, writes their files into the project, and moves its branch.
    /// Each part can be repeated: the branch moves when the files are written, and the index follows.
    pub(super) async fn rebase(
        &self,
        tree: &Tree,
        base: &Base,
        paths: &TreePaths,
    ) -> Merging<MergedTree> {
        let (root, files) = (self.project.root(), tree.workspace.root());
        let io = |error| unusable(&paths.rebased(), &error);
        let stored = read_json::<Rebased>(&paths.rebased()).map_err(io)?;
        let head = self.head(root).await?;
        let (rebased, moved) = match stored {
            Some(stored) if self.contains(root, &head, &stored.tip).await => (stored, true),
            Some(stored) if stored.head == head => (stored, false),
            _ => match self.onto(files, &head, base).await? {
                Ok(rebased) => (rebased, false),
                Err(conflicts) => return Ok(MergedTree { conflicts, ..MergedTree::default() }),
            },
        };
        write_json(&paths.rebased(), &rebased).map_err(io)?;
        let Rebased { head, tip, commits, changed } = rebased;
        let written = if moved {
            MergedTree { files: changed.iter().cloned().collect(), ..MergedTree::default() }
        } else {
            self.write(tree, base, paths, &head, &changed).await?
        };
        if !written.conflicts.is_empty() || commits.is_empty() {
            return Ok(written);
        }
        if !moved {
            self.move_branch(root, &head, &tip).await?;
        }
        self.update_index(root, &changed).await?;
        Ok(MergedTree { commits, ..written })
    }

    /// Rebases the commits of a worktree onto a commit, or returns the paths that conflict.
    async fn onto(
        &self,
        files: &Path,
        head: &str,
        base: &Base,
    ) -> Merging<Result<Rebased, Vec<String>>> {
        let start = base.commit.clone().unwrap_or_default();
        // What a killed command left; no step uses the worktree any more.
        self.unlock_index(files).await;
        let _ = self.git.run(files, &["rebase", "--abort"]).await;
        self.commit_rest(files, &base.instance).await?;
        let tip = self.head(files).await?;
        if !self.contains(files, &tip, head).await {
            let args = ["rebase", "--quiet", "--no-verify", "--onto", head, &start];
            if let Err(failure) = self.git.run(files, &args).await {
                let unmerged = ["diff", "--name-only", "--diff-filter=U", "-z"];
                let conflicts = self.git.run(files, &unmerged).await.unwrap_or_default();
                let conflicts: Vec<String> =
                    conflicts.split('\0').filter(|p| !p.is_empty()).map(str::to_owned).collect();
                let _ = self.git.run(files, &["rebase", "--abort"]).await;
                return if conflicts.is_empty() { Err(failure) } else { Ok(Err(conflicts)) };
            }
        }
        let tip = self.head(files).await?;
        let log =
            self.git.run(files, &["rev-list", "--reverse", &format!("{head}..{tip}")]).await?;
        let commits: Vec<String> = log.lines().map(str::to_owned).collect();
        let changed = ["diff", "--name-only", "--no-renames", "-z", head, &tip];
        let changed = self.git.run(files, &changed).await?;
        let changed: BTreeSet<String> =
            changed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
        Ok(Ok(Rebased { head: head.to_owned(), tip, commits, changed }))
    }

    /// Whether a commit has another one in its history.
    async fn contains(&self, folder: &Path, commit: &str, other: &str) -> bool {
        self.git.run(folder, &["merge-base", "--is-ancestor", other, commit]).await.is_ok()
    }

    /// Removes the lock that a killed `git` left on an index.
    async fn unlock_index(&self, folder: &Path) {
        let args = ["rev-parse", "--path-format=absolute", "--git-path", "index.lock"];
        if let Some(lock) = self.git.line(folder, &args).await {
            let _ = std::fs::remove_file(lock);
        }
    }

    async fn head(&self, folder: &Path) -> Merging<String> {
        let args = ["rev-parse", "--verify", "HEAD^{commit}"];
        Ok(self.git.run(folder, &args).await?.trim().to_owned())
    }

    /// Commits what the step left uncommitted, as the author of the repository or as `kb`.
    async fn commit_rest(&self, files: &Path, instance: &str) -> Merging<()> {
        self.git.run(files, &["add", "--all"]).await?;
        if self.git.run(files, &["diff", "--cached", "--quiet"]).await.is_ok() {
            return Ok(());
        }
        let mut args = self.git.identity(files).await;
        args.extend(
            ["commit", "--quiet", "--no-verify", "--cleanup=verbatim", "-m"].map(str::to_owned),
        );
        args.push(instance.to_owned());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.git.run(files, &args).await?;
        Ok(())
    }

    /// Writes the files of the new commits. A path that the project changed since its last commit is
    /// a conflict.
    async fn write(
        &self,
        tree: &Tree,
        base: &Base,
        paths: &TreePaths,
        head: &str,
        changed: &BTreeSet<String>,
    ) -> Merging<MergedTree> {
        let root = self.project.root();
        let differing = ["diff", "--name-only", "--no-renames", "-z", head];
        let differing = self.git.run(root, &differing).await?;
        let differing: BTreeSet<&str> = differing.split('\0').collect();
        // Git knows no empty folders: they are compared with the tree as it was at first.
        let (_, left) = whole(&tree.workspace)?;
        let mut changed = changed.clone();
        changed.extend(base.changed_folders(&left));
        // The project as it is now is the base of every path that it has not changed.
        let (Manifest { mut files, .. }, folders) = self.project.files_and_folders();
        files.retain(|path, state| {
            changed.contains(path)
                && !differing.contains(path.as_str())
                && state.kind != FileKind::Other
        });
        for (path, state) in &mut files {
            let now = self.project.symlink_stat(path).ok().flatten();
            state.sha256 = now.and_then(|now| now.sha256);
        }
        let (files, folders) = (Manifest { files, truncated: false }, folders.all);
        let base = Base { files, folders, ..base.clone() };
        let (project, workspace) = (self.project.clone(), tree.workspace.clone());
        let paths = paths.clone();
        blocking(move || {
            MergePlan::carried_out([&project, &workspace], &paths, || {
                MergePlan::of_paths(&project, &workspace, &base, &paths, &changed)
            })
        })
        .await
    }

    /// Moves the current branch of the project to the new commits, unless another process moved it.
    async fn move_branch(&self, root: &Path, head: &str, tip: &str) -> Merging<()> {
        let moved = self.git.run(root, &["update-ref", "-m", "kb: merge", "HEAD", tip, head]).await;
        moved.map(drop).map_err(|failure| {
            let message = format!("the branch of the project cannot be moved: {}", failure.message);
            Box::new(Failure::new(Code::MERGE_FAILED, message))
        })
    }

    /// Sets the index of the project for these paths to its last commit.
    async fn update_index(&self, root: &Path, changed: &BTreeSet<String>) -> Merging<()> {
        let list: String = changed.iter().map(|path| format!("{path}\0")).collect();
        let args = ["reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let reset = self.git.run_with(root, &args, &list).await;
        reset.map(drop).map_err(|failure| {
            let help =
                "if no other `git` runs, remove `.git/index.lock`; then `kb run resume` continues";
            Box::new(failure.help(help))
        })
    }
}
