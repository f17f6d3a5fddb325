//! Protected paths by name alone, for paths that do not exist yet.

use super::path_text::case_folded;

/// Protected names in the workspace root: folders of definitions, and files that git and direnv
/// execute or that choose what git executes.
pub(super) const AT_ROOT: [&str; 7] =
    ["playbooks", "workflows", "agents", ".husky", ".envrc", ".gitattributes", ".gitmodules"];
/// Those of [`AT_ROOT`] that are files.
const FILES: [&str; 3] = [".envrc", ".gitattributes", ".gitmodules"];
/// Protected names at any depth: a directory with settings is a project of its own, and a file in
/// `.git` can make the next `git` command run other code.
pub(super) const ANYWHERE: [&str; 2] = [".kb", GIT];
pub(super) const GIT: &str = ".git";
/// The names in `.git` that decide which code the next `git` command runs. The rest changes with
/// every commit.
pub(super) const GIT_CODE_SOURCES: [&str; 6] =
    ["hooks", "config", "config.worktree", "commondir", "gitdir", "info"];

/// Directories inside `.git` that contain further repositories and work trees.
pub(super) const GIT_NESTED: [&str; 2] = ["modules", "worktrees"];
/// Directories of a repository that change all the time.
pub(super) const GIT_DATA: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// A protected name for messages: with a slash if it is a folder.
pub(super) fn shown_name(name: &str) -> String {
    if FILES.contains(&name) { name.to_owned() } else { format!("{name}/") }
}

/// The protected name that a path leads to. `names` are the components from the root on, each
/// normalised with [`normalized`].
pub(super) fn protected_name(names: &[String]) -> Option<&'static str> {
    let first = names.first()?;
    let at_root = AT_ROOT.iter().find(|protected| first == *protected);
    let anywhere = || ANYWHERE.iter().find(|protected| names.iter().any(|name| name == *protected));
    at_root.or_else(anywhere).copied()
}

/// A name as the least exact file system sees it: without case, invisible characters, trailing dots
/// and spaces, and stream names.
pub(super) fn normalized(name: &str) -> String {
    let case_folded = case_folded(name);
    let name = case_folded.split(':').next().unwrap_or_default();
    name.trim_end_matches(['.', ' ']).to_owned()
}
