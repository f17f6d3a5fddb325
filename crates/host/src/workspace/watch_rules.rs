//! Which entries of the workspace a [`ProtectedWatch`](super::ProtectedWatch) reads.

use super::protected_names::{GIT, GIT_CODE_SOURCES, GIT_DATA, GIT_NESTED, protected_name};

/// How a survey of the protected paths treats an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchMode {
    /// Protected: read it; of a directory, read everything in it.
    Content,
    /// Not protected; a directory may contain protected paths.
    Descend,
    /// Not protected, and nothing protected in it.
    Skip,
}

/// How the entry with these names is treated. `names` are the components from the workspace root
/// on, each normalised with [`normalized`](super::protected_names::normalized).
pub(super) fn watch_mode(names: &[String]) -> WatchMode {
    let Some(git) = names.iter().position(|name| name == GIT) else {
        return if protected_name(names).is_some() {
            WatchMode::Content
        } else {
            WatchMode::Descend
        };
    };
    let inside: Vec<&str> = names[git + 1..].iter().map(String::as_str).collect();
    match inside.as_slice() {
        [] => WatchMode::Descend,
        // A list that git rewrites whenever it packs.
        ["info", "refs"] => WatchMode::Skip,
        [first, ..] if GIT_CODE_SOURCES.contains(first) => WatchMode::Content,
        [first, rest @ ..] if GIT_NESTED.contains(first) => match rest {
            _ if rest.iter().any(|part| GIT_DATA.contains(part)) => WatchMode::Skip,
            _ if rest.iter().any(|part| GIT_CODE_SOURCES.contains(part)) => WatchMode::Content,
            _ => WatchMode::Descend,
        },
        _ => WatchMode::Skip,
    }
}

#[cfg(test)]
mod tests {
    use super::{WatchMode, watch_mode};
    use crate::workspace::protected_names::normalized;

    #[test]
    fn definitions_settings_and_git_code_sources_are_watched() {
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
            let names: Vec<String> = path.split('/').map(normalized).collect();
            assert_eq!(watch_mode(&names), expected, "{path}");
        }
    }
}
