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
/// The names in a repository from which git executes something or reads settings. See [`is_git_data`] for the rest.
pub(super) const GIT_CODE_SOURCES: [&str; 8] =
    ["hooks", "config", "config.worktree", "commondir", "gitdir", "info", "remotes", "branches"];
/// Directories of a repository with what git was told to do next. They come and go while people work.
pub(super) const GIT_TASKS: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];
/// Directories inside a repository that contain further repositories and work trees.
pub(super) const GIT_NESTED: [&str; 2] = ["modules", "worktrees"];

/// Whether an entry of a repository is data that changes with every commit, which a command may write where the
/// repository is opened for it. `name` is [`normalized`].
pub(super) fn is_git_data(name: &str) -> bool {
    const DATA: [&str; 10] = [
        "objects",
        "refs",
        "logs",
        "lfs",
        "rr-cache",
        "index",
        "packed-refs",
        "shallow",
        "gc.pid",
        "gc.log",
    ];
    /// The names of temporary files, and of what tells git which files changed.
    const BEGIN: [&str; 2] = ["next-index-", "fsmonitor--daemon"];
    const STATE: [&str; 4] = ["merge_mode", "merge_rr", "auto_merge", "packed-refs.new"];
    let name = name.strip_suffix(".lock").unwrap_or(name);
    // `ORIG_HEAD`, `COMMIT_EDITMSG`, `MERGE_MSG`
    let is_text = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_head = is_text && (name.ends_with("head") || name.ends_with("msg"));
    is_head
        || DATA.contains(&name)
        || STATE.contains(&name)
        || BEGIN.iter().any(|begin| name.starts_with(begin))
}

/// Whether git takes a folder for a repository, or for the part of one that belongs to a further work tree. `has` says
/// whether an entry with this name is in it.
pub(super) fn is_git_folder(has: impl Fn(&str) -> bool) -> bool {
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

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
