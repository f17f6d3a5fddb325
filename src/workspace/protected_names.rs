//! Which names are protected, by their text alone: what does not exist yet has nothing else.

use super::path_text::case_folded;

/// At the workspace's root.
pub(super) const AT_ROOT: [&str; 3] = ["playbooks", "workflows", "agents"];
/// Anywhere: a folder with settings is a project of its own for whoever works in it, and whoever
/// writes a hook or an index runs code at the next `git` command.
pub(super) const ANYWHERE: [&str; 2] = [".kb", GIT];
pub(super) const GIT: &str = ".git";
/// What decides inside of a `.git` which code the next `git` command runs. The rest changes with
/// every commit.
pub(super) const DECIDING_IN_GIT: [&str; 6] =
    ["hooks", "config", "config.worktree", "commondir", "gitdir", "info"];

/// The protected place that these names lead to, from the root on, each as [`plain`] has it.
pub(super) fn named(names: &[String]) -> Option<&'static str> {
    let first = names.first()?;
    let at_root = AT_ROOT.iter().find(|place| first == *place);
    let anywhere = || ANYWHERE.iter().find(|place| names.iter().any(|name| name == *place));
    at_root.or_else(anywhere).copied()
}

/// A name as the least exact file system sees it: without case, marks, the dots and spaces at the
/// end, or the name of a stream.
pub(super) fn plain(name: &str) -> String {
    let case_folded = case_folded(name);
    let name = case_folded.split(':').next().unwrap_or_default();
    name.trim_end_matches(['.', ' ']).to_owned()
}
