use super::glob::PathGlob;
use super::path_error::PathError;
use crate::definition::ToolSecurity;
use std::path::Path;

/// `allowed_paths` and `denied_paths` of the settings, as they hold over one tool.
#[derive(Debug, Clone, Default)]
pub(super) struct PathRules {
    /// Each list must let a path pass: two settings over one tool narrow, never widen.
    allowed: Vec<Vec<PathGlob>>,
    denied: Vec<PathGlob>,
}

impl PathRules {
    /// Adds what one entry of the settings says. A glob that cannot be read allows nothing.
    pub(super) fn narrow(&mut self, security: &ToolSecurity) -> Result<(), PathError> {
        if let Some(globs) = &security.allowed_paths {
            self.allowed.push(compile(globs)?);
        }
        self.denied.extend(compile(&security.denied_paths)?);
        Ok(())
    }

    /// Nothing passes.
    pub(super) fn nothing() -> Self {
        PathRules { allowed: vec![Vec::new()], denied: Vec::new() }
    }

    /// Whether no rule was given.
    pub(super) fn is_empty(&self) -> bool {
        self.allowed.is_empty() && self.denied.is_empty()
    }

    /// Whether a path passes. Globs may be written relative to the workspace or absolute.
    pub(super) fn permit(&self, shown: &str, full: &Path) -> bool {
        let full = full.to_string_lossy();
        let hit = |glob: &PathGlob| glob.matches(shown) || glob.matches(&full);
        self.allowed.iter().all(|list| list.iter().any(hit)) && !self.denied.iter().any(hit)
    }

    /// Whether a file below a folder could pass: then the folder may be listed.
    pub(super) fn denies_folder(&self, shown: &str, full: &Path) -> bool {
        let full = full.to_string_lossy();
        self.denied.iter().any(|glob| glob.matches(shown) || glob.matches(&full))
    }
}

fn compile(globs: &[String]) -> Result<Vec<PathGlob>, PathError> {
    globs.iter().map(|glob| PathGlob::anywhere(glob)).collect()
}
