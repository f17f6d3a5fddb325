//! The work trees of git that `kb` makes for steps, among the protected paths.

use super::path_guard::Workspace;
use kb_core::evidence::Manifest;
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
        let place = std::fs::read_to_string(file).unwrap_or_default();
        workspace.state_of_kb().iter().any(|state| Path::new(place.trim()).starts_with(state))
    };
    names.into_iter().filter(is_own).map(str::to_owned).collect()
}
