use super::protected_names::{DECIDING_IN_GIT, GIT, named};

/// What a look around a command that may not change protected places does with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchMode {
    /// It is looked at; where it is a folder, so is all that is in it.
    Content,
    /// It is no protected place itself; where it is a folder, there may be one in it.
    Descend,
    /// Nothing.
    Skip,
}

/// Where repositories and work trees of their own lie inside of a `.git`.
const NESTED: [&str; 2] = ["modules", "worktrees"];
/// Where they hold what changes all the time.
const DATA: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// What is done with what these names lead to, from the workspace on, each as
/// [`plain`](super::protected_names::plain) has it.
pub(super) fn watched(names: &[String]) -> WatchMode {
    let Some(git) = names.iter().position(|name| name == GIT) else {
        return if named(names).is_some() { WatchMode::Content } else { WatchMode::Descend };
    };
    let inside: Vec<&str> = names[git + 1..].iter().map(String::as_str).collect();
    match inside.as_slice() {
        [] => WatchMode::Descend,
        // A list that git itself writes whenever it packs.
        ["info", "refs"] => WatchMode::Skip,
        [first, ..] if DECIDING_IN_GIT.contains(first) => WatchMode::Content,
        [first, rest @ ..] if NESTED.contains(first) => match rest {
            _ if rest.iter().any(|part| DATA.contains(part)) => WatchMode::Skip,
            _ if rest.iter().any(|part| DECIDING_IN_GIT.contains(part)) => WatchMode::Content,
            _ => WatchMode::Descend,
        },
        _ => WatchMode::Skip,
    }
}

#[cfg(test)]
mod tests {
    use super::{WatchMode, watched};
    use crate::workspace::protected_names::plain;

    #[test]
    fn definitions_settings_and_what_decides_in_a_repository_are_watched() {
        use WatchMode::{Content, Descend, Skip};
        for (path, expected) in [
            ("src", Descend),
            ("src/main.rs", Descend),
            ("playbooks", Content),
            ("playbooks/a/b.yml", Content),
            ("src/playbooks", Descend),
            (".kb/kb.config.yml", Content),
            ("sub/.kb", Content),
            ("sub/.KB/x", Content),
            (".git", Descend),
            (".git/HEAD", Skip),
            (".git/objects", Skip),
            (".git/hooks/pre-commit", Content),
            (".git/info/exclude", Content),
            (".git/info/refs", Skip),
            (".git/config", Content),
            (".git/modules/a/b/config", Content),
            (".git/modules/a/b/hooks/update", Content),
            (".git/modules/a/objects", Skip),
            (".git/worktrees/a/commondir", Content),
            ("vendored/lib/.git/hooks/update", Content),
            ("vendored/lib/.git/index", Skip),
        ] {
            let names: Vec<String> = path.split('/').map(plain).collect();
            assert_eq!(watched(&names), expected, "{path}");
        }
    }
}
