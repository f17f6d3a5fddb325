//! Makes a worktree or a copy.

use super::base::{Base, TreePaths, write_json, write_whole};
use super::failures::unusable;
use super::trees::Trees;
use crate::workspace::Workspace;
use kb_attempt::TreeRequest;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::evidence::{FileKind, Manifest};
use kb_language::definition::MergePolicy;
use std::collections::BTreeSet;
use std::path::Path;

type TreeResult<T> = Result<T, Box<Failure>>;

impl Trees {
    /// Makes a tree with the present files of the project. It is complete once its base is stored.
    pub(super) async fn create(&self, request: &TreeRequest, paths: &TreePaths) -> TreeResult<()> {
        let files = paths.files();
        std::fs::create_dir_all(paths.run.join("base"))
            .map_err(|error| unusable(&paths.run, &error))?;
        let _ = std::fs::remove_file(paths.plan());
        let worktree = request.isolation.worktree;
        let commit = if worktree {
            Some(self.worktree(request, &files).await?)
        } else {
            std::fs::create_dir(&files).map_err(|error| unusable(&files, &error))?;
            None
        };
        let (project, copied) = (self.project.clone(), paths.clone());
        let copy = move || copy(&project, &copied, worktree);
        let (files, folders) = tokio::task::spawn_blocking(copy).await.map_err(|error| {
            Box::new(Failure::new(Code::INTERNAL_ERROR, format!("the copy was stopped: {error}")))
        })??;
        let stays = request.isolation.merge == MergePolicy::None;
        let instance = request.instance.to_string();
        let base = Base { instance, worktree, stays, commit, files, folders };
        write_json(&paths.base(), &base).map_err(|error| unusable(&paths.base(), &error))
    }

    /// Makes an empty worktree whose index is that of the last commit. Returns the commit.
    async fn worktree(&self, request: &TreeRequest, files: &Path) -> TreeResult<String> {
        let root = self.project.root();
        let commit = self.usable_commit(request, root).await?;
        let path = files.to_string_lossy();
        let add =
            ["worktree", "add", "-f", "-f", "--quiet", "--no-checkout", "--detach", &path, &commit];
        self.git.run(root, &add).await?;
        self.git.run(files, &["read-tree", &commit]).await?;
        Ok(commit)
    }

    /// The last commit of the project, if a worktree can be made from it.
    async fn usable_commit(&self, request: &TreeRequest, root: &Path) -> TreeResult<String> {
        let top = match self.git.run(root, &["rev-parse", "--show-toplevel"]).await {
            Ok(top) => top.trim_end_matches('\n').to_owned(),
            Err(failure) if failure.message.contains("did not start") => return Err(failure),
            Err(failure) if failure.message.contains("not a git repository") => {
                return Err(unavailable(
                    "the project is not a git repository".to_owned(),
                    "run `git init` and commit the files, or write `workspace: copy`",
                ));
            }
            Err(failure) => return Err(Box::new(failure.help("write `workspace: copy`"))),
        };
        let is_root = Path::new(&top).canonicalize().is_ok_and(|top| top == root);
        if !is_root {
            let message =
                format!("the project is a folder of the repository `{top}`, not its root");
            return Err(unavailable(
                message,
                "write `workspace: copy`, or move `.kb/` to that folder",
            ));
        }
        let verify = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let Some(commit) = self.git.line(root, &verify).await else {
            return Err(unavailable(
                "the repository has no commit yet".to_owned(),
                "commit the files with `git add -A && git commit`, or write `workspace: copy`",
            ));
        };
        if root.join(".gitmodules").exists() {
            return Err(unavailable(
                "the repository has submodules, whose files are not part of a worktree".to_owned(),
                "write `workspace: copy`",
            ));
        }
        if request.isolation.merge == MergePolicy::Rebase {
            self.require_clean(root).await?;
        }
        Ok(commit)
    }

    /// Commits can be rebased only onto files that are committed, and without filters.
    async fn require_clean(&self, root: &Path) -> TreeResult<()> {
        let status = ["status", "--porcelain=v1", "--untracked-files=no"];
        let changed = self.git.run(root, &status).await?;
        if let Some(first) = changed.lines().next() {
            let more = match changed.lines().count() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let path = first.get(3..).unwrap_or_default();
            return Err(unavailable(
                format!("`{path}`{more} has changes that are not committed"),
                "commit them, put them aside with `git stash`, or write `merge: patch`",
            ));
        }
        let manifest = self.project.manifest();
        let own = manifest
            .files
            .keys()
            .filter(|path| *path == ".gitattributes" || path.ends_with("/.gitattributes"));
        for path in own {
            let text = self.project.read_file(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let is_custom = |word: &str| {
                word.starts_with("filter=")
                    || word
                        .strip_prefix("merge=")
                        .is_some_and(|driver| !matches!(driver, "text" | "binary" | "union"))
            };
            if let Some(word) = text.split_whitespace().find(|word| is_custom(word)) {
                return Err(unavailable(
                    format!(
                        "`{path}` sets `{word}`; programs of filters (such as Git LFS) are not run"
                    ),
                    "write `merge: patch`, which copies files as they are",
                ));
            }
        }
        Ok(())
    }
}

/// Copies the files and folders of the project into a tree, for a worktree without ignored files. Returns
/// those that the ignore rules leave, as they are in the tree, with digests. Blocks.
fn copy(
    project: &Workspace,
    paths: &TreePaths,
    worktree: bool,
) -> TreeResult<(Manifest, BTreeSet<String>)> {
    let files = paths.files();
    let (all, folders) = if worktree { project.files_and_folders() } else { project.all_files() };
    if all.truncated {
        return Err(unavailable(
            "the project has too many files, or folders that cannot be read".to_owned(),
            "ignore generated files in `.gitignore`, or write `workspace: exclusive`",
        ));
    }
    let mut digests = std::collections::BTreeMap::new();
    for (path, state) in &all.files {
        if state.kind == FileKind::Other {
            continue;
        }
        let mut keep = |bytes: &[u8]| {
            let content = paths.content(&kb_base::value::Digest::of(bytes));
            if content.exists() { Ok(()) } else { write_whole(&content, bytes) }
        };
        let digest = project.copy_to(path, state, &files, &mut keep).map_err(|error| {
            let failure = error.failure();
            let message =
                format!("`{path}` cannot be copied to `{}`: {}", files.display(), failure.message);
            let help = failure.help.unwrap_or_else(|| {
                "free space on that disk, or set `XDG_STATE_HOME` to another one".to_owned()
            });
            unavailable(message, &help)
        })?;
        digests.insert(path, digest);
    }
    for folder in folders.empty.iter().map(|path| files.join(path)) {
        std::fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error))?;
    }
    let tree = project.rooted_at(&files).map_err(|error| unusable(&files, &error))?;
    let (mut copied, folders) = tree.files_and_folders();
    for (path, state) in &mut copied.files {
        let known = digests.get(path).copied().flatten();
        state.sha256 = known.or_else(|| tree.symlink_stat(path).ok().flatten()?.sha256);
    }
    Ok((copied, folders.all))
}

fn unavailable(message: String, help: &str) -> Box<Failure> {
    Box::new(Failure::new(Code::TREE_UNAVAILABLE, message).help(help))
}
