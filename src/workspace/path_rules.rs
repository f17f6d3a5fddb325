use super::path_error::PathError;
use super::path_glob::PathGlob;
use super::path_text::case_folded;
use super::protected_names::plain;
use std::path::Path;

/// `allowed_paths` and `denied_paths` of the settings, as they hold over one tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathRules {
    /// Each list must let a path pass: two settings over one tool narrow, never widen.
    allowed: Vec<Vec<PathGlob>>,
    denied: Vec<PathGlob>,
}

impl PathRules {
    /// Adds what one entry of the settings says. A glob that cannot be read allows nothing.
    pub(crate) fn narrow(
        &mut self,
        allowed: Option<&[String]>,
        denied: &[String],
    ) -> Result<(), PathError> {
        if let Some(globs) = allowed {
            self.allowed
                .push(globs.iter().map(|glob| PathGlob::anywhere(glob)).collect::<Result<_, _>>()?);
        }
        for glob in denied {
            self.denied.push(PathGlob::anywhere(&case_folded(glob))?);
        }
        Ok(())
    }

    /// Nothing passes.
    pub(crate) fn nothing() -> Self {
        PathRules { allowed: vec![Vec::new()], denied: Vec::new() }
    }

    /// Whether no rule was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.allowed.is_empty() && self.denied.is_empty()
    }

    /// Whether a path passes. Globs may be written relative to the workspace or absolute.
    pub(crate) fn permit(&self, shown: &str, full: &Path) -> bool {
        let full = full.to_string_lossy();
        let hit = |glob: &PathGlob| glob.matches(shown) || glob.matches(&full);
        self.allowed.iter().all(|list| list.iter().any(hit))
            && !self.denies(shown, Path::new(full.as_ref()))
    }

    /// Whether a denial speaks of a path or of a folder below the root that it lies in. Some file
    /// systems do not tell `.ENV` or `.env.` from `.env`, so none of them is trusted to.
    pub(crate) fn denies(&self, shown: &str, full: &Path) -> bool {
        if self.denied.is_empty() {
            return false;
        }
        let full = full.to_string_lossy();
        let plain = |path: &str| path.split('/').map(plain).collect::<Vec<_>>().join("/");
        self.deny_folded(&case_folded(shown), &case_folded(&full))
            || self.deny_folded(&plain(shown), &plain(&full))
    }

    fn deny_folded(&self, mut shown: &str, mut full: &str) -> bool {
        loop {
            if self.denied.iter().any(|glob| glob.matches(shown) || glob.matches(full)) {
                return true;
            }
            // What lies above the root is nobody's to deny: the glob `tmp` speaks of folders here.
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
