use std::path::{Component, Path, PathBuf};

/// Places that tools may read and never change: definitions and settings, the repository's own
/// data, the state of `kb` (DESIGN §6). They hold before they exist.
#[derive(Debug, Clone)]
pub(super) struct Protected {
    also: Vec<PathBuf>,
}

/// At the workspace's root.
const AT_ROOT: [&str; 4] = [".kb", "playbooks", "workflows", "agents"];
/// Anywhere: whoever writes a hook or an index there runs code at the next `git` command.
const ANYWHERE: &str = ".git";
/// What decides inside of the workspace's own `.git` which code the next `git` command runs. The
/// rest changes with every commit.
const IN_GIT: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "info"];

/// Whether a path, relative to the root, is looked at around a command that may not change it.
pub(super) fn is_watched(path: &str) -> bool {
    let mut names = path.split('/');
    let first = names.next().unwrap_or_default();
    if first.eq_ignore_ascii_case(ANYWHERE) {
        return match (names.next(), names.next()) {
            (None, _) => true,
            // A list that git itself writes whenever it packs.
            (Some("info"), Some("refs")) => false,
            (Some(name), _) => IN_GIT.iter().any(|place| name.eq_ignore_ascii_case(place)),
        };
    }
    AT_ROOT.iter().any(|place| first.eq_ignore_ascii_case(place))
}

impl Protected {
    /// With further places: absolute, or relative to the root.
    pub(super) fn new(root: &Path, also: &[PathBuf]) -> Self {
        Protected { also: also.iter().map(|place| real(&root.join(place))).collect() }
    }

    /// Whether a real path, relative to the root, lies in one of the further places.
    pub(super) fn is_further(&self, root: &Path, real: &Path) -> bool {
        let full = root.join(real);
        self.also.iter().any(|place| full.starts_with(place))
    }

    /// The protected place that a real path, relative to the root, lies in.
    pub(super) fn place(&self, root: &Path, real: &Path) -> Option<String> {
        let names: Vec<_> = real
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(super::path_text::nfc(&name.to_string_lossy())),
                _ => None,
            })
            .collect();
        // Some file systems do not tell `.GIT` from `.git`, so none of them is trusted to.
        let named = |name: &str, place: &str| name.eq_ignore_ascii_case(place);
        let at_root = names.first().and_then(|name| AT_ROOT.iter().find(|at| named(name, at)));
        if let Some(place) = at_root {
            return Some(format!("{place}/"));
        }
        if names.iter().any(|name| named(name, ANYWHERE)) {
            return Some(format!("{ANYWHERE}/"));
        }
        let full = root.join(real);
        self.also.iter().find(|place| full.starts_with(place)).map(|p| p.display().to_string())
    }
}

/// The real path of a place whose last parts may not exist yet.
fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        if let Ok(found) = at.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                at = parent;
            }
            _ => return path.to_owned(),
        }
    }
}
