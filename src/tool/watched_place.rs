use super::protected::{DECIDING_IN_GIT, GIT, named, plain};
use std::path::Path;

/// What a look around a command that may not change protected places does with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    /// It is looked at; where it is a folder, so is all that is in it.
    Content,
    /// It is no protected place itself; where it is a folder, there may be one in it.
    Below,
    /// Nothing.
    Not,
}

/// Where repositories and work trees of their own lie inside of a `.git`.
const NESTED: [&str; 2] = ["modules", "worktrees"];
/// Where they hold what changes all the time.
const DATA: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// What is done with a path, relative to the workspace.
pub(super) fn watched(path: &str) -> Watched {
    let parts: Vec<String> = path.split('/').map(plain).collect();
    let Some(git) = parts.iter().position(|part| part == GIT) else {
        let is_definition = named(Path::new(path)).is_some();
        return if is_definition { Watched::Content } else { Watched::Below };
    };
    let inside: Vec<&str> = parts[git + 1..].iter().map(String::as_str).collect();
    match inside.as_slice() {
        [] => Watched::Below,
        // A list that git itself writes whenever it packs.
        ["info", "refs"] => Watched::Not,
        [first, ..] if DECIDING_IN_GIT.contains(first) => Watched::Content,
        [first, rest @ ..] if NESTED.contains(first) => match rest {
            _ if rest.iter().any(|part| DATA.contains(part)) => Watched::Not,
            _ if rest.iter().any(|part| DECIDING_IN_GIT.contains(part)) => Watched::Content,
            _ => Watched::Below,
        },
        _ => Watched::Not,
    }
}

#[cfg(test)]
mod tests {
    use super::{Watched, watched};

    #[test]
    fn definitions_settings_and_what_decides_in_a_repository_are_watched() {
        use Watched::{Below, Content, Not};
        for (path, expected) in [
            ("src", Below),
            ("src/main.rs", Below),
            ("playbooks", Content),
            ("playbooks/a/b.yml", Content),
            ("src/playbooks", Below),
            (".kb/kb.config.yml", Content),
            ("sub/.kb", Content),
            ("sub/.KB/x", Content),
            (".git", Below),
            (".git/HEAD", Not),
            (".git/objects", Not),
            (".git/hooks/pre-commit", Content),
            (".git/info/exclude", Content),
            (".git/info/refs", Not),
            (".git/config", Content),
            (".git/modules/a/b/config", Content),
            (".git/modules/a/b/hooks/update", Content),
            (".git/modules/a/objects", Not),
            (".git/worktrees/a/commondir", Content),
            ("vendored/lib/.git/hooks/update", Content),
            ("vendored/lib/.git/index", Not),
        ] {
            assert_eq!(watched(path), expected, "{path}");
        }
    }
}
