use super::guard::{Located, Workspace};
use super::path_error::PathError;
use super::path_rules::PathRules;
use super::place::Place;
use crate::evidence::FileKind;
use std::path::PathBuf;
use std::sync::Arc;

/// The workspace as one tool may touch it: the guard, narrowed by the settings' path rules.
#[derive(Clone)]
pub(super) struct Files {
    pub(super) workspace: Workspace,
    pub(super) rules: Arc<PathRules>,
    pub(super) tool: &'static str,
}

impl Files {
    /// Resolves a path to look at or read.
    pub(super) fn locate(&self, path: &str) -> Result<Located, PathError> {
        let located = self.workspace.locate(path)?;
        let permitted = match located.kind() {
            FileKind::Directory => !self.rules.denies(&located.shown, &located.full),
            _ => self.rules.permit(&located.shown, &located.full),
        };
        if permitted { Ok(located) } else { Err(self.forbidden(path)) }
    }

    /// Resolves a path to write or remove; a link is followed if `follow`.
    pub(super) fn place(&self, path: &str, follow: bool) -> Result<Place, PathError> {
        let place = Place::find(&self.workspace, path, follow)?;
        if self.permit(&place.shown) { Ok(place) } else { Err(self.forbidden(path)) }
    }

    /// A directory that a process may be started in; empty is the root.
    pub(super) fn cwd(&self, path: &str) -> Result<PathBuf, PathError> {
        let cwd = self.workspace.cwd(path)?;
        let rel = cwd.strip_prefix(self.workspace.root()).unwrap_or(&cwd);
        match self.rules.denies(&super::path_text::shown(rel), &cwd) {
            true => Err(self.forbidden(path)),
            false => Ok(cwd),
        }
    }

    /// Whether the rules let a real path pass, as it is shown.
    pub(super) fn permit(&self, shown: &str) -> bool {
        self.rules.is_empty() || self.rules.permit(shown, &self.workspace.root().join(shown))
    }

    fn forbidden(&self, path: &str) -> PathError {
        PathError::Forbidden { path: path.to_owned(), tool: self.tool.to_owned() }
    }
}
