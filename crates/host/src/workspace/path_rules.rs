//! Path rules of the settings: which paths a tool may access.

use super::path_error::PathError;
use super::path_glob::PathGlob;
use super::path_text::{case_folded, nfc};
use super::protected_names::normalized;
use std::path::{Path, PathBuf};

/// `allowed_paths` and `denied_paths` of the settings for one tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathRules {
    /// A path must match every list: two entries for one tool narrow, never widen.
    allowed: Vec<Vec<PathGlob>>,
    denied: Vec<PathGlob>,
}

impl PathRules {
    /// Adds the rules of one entry. The caller must deny every path if a glob is invalid.
    pub(crate) fn narrow(
        &mut self,
        allowed: &[Vec<String>],
        denied: &[String],
    ) -> Result<(), PathError> {
        for globs in allowed {
            self.allowed
                .push(globs.iter().map(|glob| PathGlob::anywhere(glob)).collect::<Result<_, _>>()?);
        }
        for glob in denied {
            self.denied.push(PathGlob::anywhere(&folded(glob))?);
            if let Some(inside) = inside(glob) {
                self.denied.push(PathGlob::new(&folded(&inside))?);
            }
        }
        Ok(())
    }

    /// Rules that deny every path.
    pub(crate) fn nothing() -> Self {
        PathRules { allowed: vec![Vec::new()], denied: Vec::new() }
    }

    /// The paths below `root` that contain everything that may be accessed; `None` if that is all of
    /// it. Denials are not considered.
    pub(crate) fn roots(&self, root: &Path) -> Option<Vec<PathBuf>> {
        let mut roots = vec![root.to_owned()];
        for list in &self.allowed {
            let bases: Vec<PathBuf> = list.iter().map(|glob| root.join(glob.base())).collect();
            let both = |a: &PathBuf, b: &PathBuf| match (a.starts_with(b), b.starts_with(a)) {
                (true, _) => Some(a.clone()),
                (_, true) => Some(b.clone()),
                _ => None,
            };
            roots =
                roots.iter().flat_map(|a| bases.iter().filter_map(move |b| both(a, b))).collect();
        }
        (!roots.iter().any(|path| path == root)).then_some(roots)
    }

    /// Whether there are no rules.
    pub(crate) fn is_empty(&self) -> bool {
        self.allowed.is_empty() && self.denied.is_empty()
    }

    /// Whether a path is permitted. Globs may be relative to the workspace or absolute.
    pub(crate) fn permit(&self, shown: &str, full: &Path) -> bool {
        self.allows(shown, full) && !self.denies(shown, full)
    }

    fn allows(&self, shown: &str, full: &Path) -> bool {
        let full = full.to_string_lossy();
        let hit = |glob: &PathGlob| glob.matches(shown) || glob.matches(&full);
        self.allowed.iter().all(|list| list.iter().any(hit))
    }

    /// Whether a denial matches a path or one of the directories below the root that contain it.
    /// Some file systems treat `.ENV` or `.env.` as `.env`, so names are normalised first.
    pub(crate) fn denies(&self, shown: &str, full: &Path) -> bool {
        self.denies_as(shown, full, PathRules::deny_folded)
    }

    /// [`PathRules::denies`] for a path whose directories no denial matches.
    pub(super) fn denies_entry(&self, shown: &str, full: &Path) -> bool {
        self.denies_as(shown, full, PathRules::deny_itself)
    }

    /// Whether a path whose directories no denial matches is not permitted.
    pub(super) fn forbids_entry(&self, shown: &str, full: &Path) -> bool {
        !self.allows(shown, full) || self.denies_entry(shown, full)
    }

    fn denies_as(&self, shown: &str, full: &Path, test: fn(&Self, &str, &str) -> bool) -> bool {
        if self.denied.is_empty() {
            return false;
        }
        let full = full.to_string_lossy();
        let normalized_path =
            |path: &str| nfc(path.split('/').map(normalized).collect::<Vec<_>>().join("/"));
        test(self, &folded(shown), &folded(&full))
            || test(self, &normalized_path(shown), &normalized_path(&full))
    }

    fn deny_itself(&self, shown: &str, full: &str) -> bool {
        self.denied.iter().any(|glob| glob.matches(shown) || glob.matches(full))
    }

    fn deny_folded(&self, mut shown: &str, mut full: &str) -> bool {
        loop {
            if self.deny_itself(shown, full) {
                return true;
            }
            // Directories above the root are not matched: the glob `tmp` means a directory in the
            // workspace.
            let (Some((above, _)), Some((above_full, _))) =
                (shown.rsplit_once('/'), full.rsplit_once('/'))
            else {
                return false;
            };
            if above.is_empty() || shown.starts_with('/') {
                return false;
            }
            (shown, full) = (above, above_full);
        }
    }
}

/// The form in which denials and paths are compared: a glob is composed when it is compiled.
fn folded(text: &str) -> String {
    nfc(case_folded(text))
}

/// The paths of the project that a denial can mean too: a `/` at its end is that of a folder, and one at its start that of
/// the project.
fn inside(glob: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let glob = glob.trim();
    for part in glob.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    // A name alone is meant at any depth.
    let is_name = !glob.trim_end_matches('/').contains('/');
    let any = if is_name { "**/" } else { "" };
    (!parts.is_empty()).then(|| format!("{any}{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_covers_a_path_in_every_form() {
        let root = Path::new("/p");
        let denies = |glob: &str, path: &str| {
            let mut rules = PathRules::default();
            rules.narrow(&[], &[glob.to_owned()]).unwrap();
            rules.denies(path, &root.join(path))
        };
        let forms = ["ä/a", "a\u{308}/a", "Ä/a"];
        for glob in ["ä/**", "a\u{308}/**", "Ä", "/ä/**", "ä/", "x/../ä", ".//ä//**", " ä/** "]
        {
            assert!(forms.iter().all(|path| denies(glob, path)), "{glob}");
            assert!(!denies(glob, "b/a"), "{glob}");
        }
        for (glob, path) in [("/ä", "b/ä"), ("./ä", "b/ä/a"), ("../ä/**", "ä/a"), ("/..", "a")]
        {
            assert!(!denies(glob, path), "{glob} {path}");
        }
        assert!(denies("ä/", "b/ä/a"));
        for name in ["é", "й", "が", "한", "ß"] {
            assert!(denies(&format!("{name}/**"), &format!("{name}/x")), "{name}");
        }
    }
}
