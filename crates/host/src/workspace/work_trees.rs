//! The work trees of git that `kb` makes for steps, among the protected paths.

use super::own_path::lexical;
use super::path_guard::Workspace;
use super::protected_names::{GIT, is_git_data, normalized};
use super::repository::short_text;
use kb_base::value::Digest;
use kb_core::evidence::{FileKind, FileState, Manifest};
use std::collections::BTreeSet;
use std::path::Path;

/// The folder in which git keeps what it knows of work trees.
const WORK_TREES: &str = ".git/worktrees";

/// The name of the work tree that a path is about; empty for the folder of all.
pub(super) fn work_tree_of(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(WORK_TREES)?;
    match rest.strip_prefix('/') {
        Some(rest) => rest.split('/').next(),
        None => rest.is_empty().then_some(""),
    }
}

/// The work trees that git knows and that lie in the state of `kb`: those of steps, which come and go beside a command.
pub(super) fn own_trees(workspace: &Workspace, before: &Manifest) -> BTreeSet<String> {
    let names = before.files.keys().filter_map(|path| work_tree_of(path));
    let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    let is_own = |name: &&str| {
        let file = workspace.root().join(WORK_TREES).join(name).join("gitdir");
        let place = lexical(Path::new(short_text(&file).unwrap_or_default().trim()));
        workspace.state_of_kb().iter().any(|state| place.starts_with(state))
    };
    names.into_iter().filter(is_own).map(str::to_owned).collect()
}

/// Whether git writes a file when it makes a work tree, and executes nothing because of it. Settings are a copy of those of
/// the repository.
pub(super) fn is_made_by_git(path: &str, state: &FileState, all: &Manifest) -> bool {
    let name = work_tree_of(path).unwrap_or_default();
    let rest = path.strip_prefix(WORK_TREES).and_then(|rest| rest.get(1 + name.len()..));
    let rest = rest.unwrap_or_default().trim_start_matches('/');
    let first = rest.split('/').next().unwrap_or_default();
    match rest {
        _ if state.kind == FileKind::Directory => true,
        "gitdir" | "locked" => true,
        "commondir" => state.sha256 == Some(Digest::of("../..\n")),
        _ if is_git_data(&normalized(first)) => true,
        _ => {
            let of_repository = all.files.get(&format!("{GIT}/{rest}"));
            of_repository.is_some_and(|own| own.sha256.is_some() && own.sha256 == state.sha256)
        }
    }
}
