//! Which entries of the workspace a [`ProtectedWatch`](super::ProtectedWatch) reads.

use super::protected_names::{
    GIT, GIT_CODE_SOURCES, GIT_NESTED, GIT_TASKS, is_git_data, is_git_folder, protected_name,
};

/// What a folder of the workspace is for a survey of the protected paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Not protected; it may contain protected paths.
    Open,
    /// The folder of a repository.
    Repository,
    /// It contains the repositories of submodules or further work trees.
    Nested,
    /// A folder with data of a repository.
    Data,
    /// `info` of a repository.
    Info,
    /// Protected with everything in it.
    Protected,
}

/// How a survey treats an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchMode {
    /// Protected: read it; a folder is such a place.
    Content(Place),
    /// Protected, but only whether it exists: a folder that git does not know.
    Exists,
    /// Not protected; a folder is such a place.
    Descend(Place),
    /// Not protected, and nothing protected in it.
    Skip,
}

impl Place {
    /// The place with these names of entries: git decides what a repository is.
    pub(super) fn with(self, is_root: bool, has: impl Fn(&str) -> bool) -> Place {
        match self {
            Place::Open | Place::Nested | Place::Data if !is_root && is_git_folder(&has) => {
                Place::Repository
            }
            other => other,
        }
    }

    /// How an entry is treated. `names` are the components from the workspace root on, each normalised with
    /// [`normalized`](super::protected_names::normalized).
    /// `git_is_open` says whether the process may write to repositories: else only people change what they were told to
    /// do next.
    pub(super) fn mode(self, names: &[String], is_folder: bool, git_is_open: bool) -> WatchMode {
        let name = names.last().map_or("", String::as_str);
        match self {
            Place::Protected => WatchMode::Content(Place::Protected),
            Place::Nested if is_folder => WatchMode::Descend(Place::Nested),
            Place::Nested => WatchMode::Content(Place::Protected),
            // A list that git rewrites whenever it packs.
            Place::Info if name == "refs" => WatchMode::Skip,
            Place::Info => WatchMode::Content(Place::Protected),
            Place::Data if name == GIT && !is_folder => WatchMode::Content(Place::Protected),
            Place::Data if name == GIT => WatchMode::Descend(Place::Repository),
            Place::Data if is_folder => WatchMode::Descend(Place::Data),
            Place::Data => WatchMode::Skip,
            Place::Repository => match name {
                // A repository may be made in it.
                _ if is_git_data(name) && is_folder && git_is_open => {
                    WatchMode::Descend(Place::Data)
                }
                _ if is_git_data(name) => WatchMode::Skip,
                _ if is_folder && GIT_NESTED.contains(&name) => WatchMode::Descend(Place::Nested),
                "info" => WatchMode::Content(Place::Info),
                _ if GIT_CODE_SOURCES.contains(&name) => WatchMode::Content(Place::Protected),
                _ if !git_is_open => WatchMode::Skip,
                _ if is_folder && !GIT_TASKS.contains(&name) => WatchMode::Exists,
                _ => WatchMode::Content(Place::Protected),
            },
            // A `.git` that is a file or a link names the repository.
            Place::Open if name == GIT && is_folder => WatchMode::Descend(Place::Repository),
            Place::Open => match protected_name(names) {
                Some(_) => WatchMode::Content(Place::Protected),
                None => WatchMode::Descend(Place::Open),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, WatchMode};
    use crate::workspace::protected_names::normalized;

    /// The mode of the last name of a path, if all names before it are folders, and repositories are named `.git` or lie in
    /// one.
    fn mode(path: &str, is_folder: bool) -> WatchMode {
        let names: Vec<String> = path.split('/').map(normalized).collect();
        let mut place = Place::Open;
        for length in 1..names.len() {
            place = match place.mode(&names[..length], true, true) {
                WatchMode::Content(place) => place,
                WatchMode::Descend(place @ (Place::Nested | Place::Data)) => {
                    place.with(false, |_| names[length - 1] == "repository")
                }
                WatchMode::Descend(place) => place,
                end => return end,
            };
        }
        place.mode(&names, is_folder, true)
    }

    #[test]
    fn definitions_settings_and_what_git_executes_are_watched() {
        let (content, open) =
            (WatchMode::Content(Place::Protected), WatchMode::Descend(Place::Open));
        for (path, expected) in [
            ("src/main.rs", open),
            ("playbooks/a/b.yml", content),
            ("src/playbooks", open),
            (".kb/kb.config.yml", content),
            ("sub/.KB/x", content),
            ("sub/.git", content),
            (".git/HEAD", WatchMode::Skip),
            (".git/ORIG_HEAD", WatchMode::Skip),
            (".git/COMMIT_EDITMSG", WatchMode::Skip),
            (".git/index.lock", WatchMode::Skip),
            (".git/objects/aa", WatchMode::Skip),
            (".git/objects/aa/.git", content),
            (".git/refs/repository/hooks/update", content),
            (".git/hooks/pre-commit", content),
            (".git/info/exclude", content),
            (".git/info/refs", WatchMode::Skip),
            (".git/config", content),
            (".git/BISECT_NAMES", content),
            (".git/rebase-merge/git-rebase-todo", content),
            (".git/sequencer/todo", content),
            (".git/remotes/origin", content),
            (".git/modules/a/repository/config", content),
            (".git/modules/objects/x", content),
            (".git/modules/a/repository/objects", WatchMode::Skip),
            (".git/worktrees/repository/commondir", content),
            (".git/worktrees/repository/index", WatchMode::Skip),
            ("vendored/lib/.git/hooks/update", content),
            ("vendored/lib/.git/index", WatchMode::Skip),
        ] {
            assert_eq!(mode(path, false), expected, "{path}");
        }
        assert_eq!(mode("src", true), open);
        assert_eq!(mode(".git", true), WatchMode::Descend(Place::Repository));
        assert_eq!(mode(".git/annex", true), WatchMode::Exists);
        for (name, expected) in [
            ("hooks", content),
            ("config", content),
            ("sequencer", WatchMode::Skip),
            (".COMMIT_EDITMSG.swp", WatchMode::Skip),
        ] {
            let names = [".git".to_owned(), normalized(name)];
            assert_eq!(Place::Repository.mode(&names, false, false), expected, "{name}");
        }
    }
}
