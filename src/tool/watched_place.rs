use super::protected_name::{DECIDING_IN_GIT, GIT, named};

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

/// What is done with what these names lead to, from the workspace on, each as
/// [`plain`](super::protected_name::plain) has it.
pub(super) fn watched(names: &[String]) -> Watched {
    let Some(git) = names.iter().position(|name| name == GIT) else {
        return if named(names).is_some() { Watched::Content } else { Watched::Below };
    };
    let inside: Vec<&str> = names[git + 1..].iter().map(String::as_str).collect();
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
    use crate::tool::protected_name::plain;

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
            let names: Vec<String> = path.split('/').map(plain).collect();
            assert_eq!(watched(&names), expected, "{path}");
        }
    }
}
