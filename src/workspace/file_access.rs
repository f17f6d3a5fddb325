use super::content::SMALL;
use super::path_error::PathError;
use super::path_glob::PathGlob;
use super::path_guard::{LocatedPath, Workspace};
use super::path_rules::PathRules;
use super::walk::{Entry, walk};
use super::write_target::{PriorState, WriteTarget};
use crate::evidence::{Change, EvidenceRef, FileKind, FileState};
use crate::redaction::Redactor;
use crate::value::Digest;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The workspace as one tool may touch it: the guard, narrowed by the settings' path rules.
#[derive(Clone)]
pub(crate) struct FileAccess {
    pub(crate) workspace: Workspace,
    pub(crate) rules: Arc<PathRules>,
    pub(crate) tool: &'static str,
    pub(crate) redactor: Arc<Redactor>,
}

impl FileAccess {
    /// Resolves a path to look at or read.
    pub(crate) fn locate(&self, path: &str) -> Result<LocatedPath, PathError> {
        let located = self.workspace.locate(path)?;
        let permitted = self.may_see(located.kind(), &located.shown, &located.full);
        if permitted { Ok(located) } else { Err(self.forbidden(path)) }
    }

    /// Resolves a path to write or remove; a link is followed if `follow`.
    pub(crate) fn place(&self, path: &str, follow: bool) -> Result<WriteTarget, PathError> {
        let place = WriteTarget::find(&self.workspace, path, follow)?;
        if self.permit(&place.shown) { Ok(place) } else { Err(self.forbidden(path)) }
    }

    /// A directory that a process may be started in; empty is the root.
    pub(crate) fn cwd(&self, path: &str) -> Result<PathBuf, PathError> {
        let cwd = self.workspace.cwd(path)?;
        let rel = cwd.strip_prefix(self.workspace.root()).unwrap_or(&cwd);
        match self.rules.denies(&super::path_text::shown(rel), &cwd) {
            true => Err(self.forbidden(path)),
            false => Ok(cwd),
        }
    }

    /// Whether the rules let a real path pass, as it is shown.
    pub(crate) fn permit(&self, shown: &str) -> bool {
        self.rules.is_empty() || self.rules.permit(shown, &self.workspace.root().join(shown))
    }

    /// Visits what is below a folder, as far as a glob speaks of it and the rules let it be seen,
    /// until the call is stopped.
    pub(crate) fn walk(
        &self,
        start: &LocatedPath,
        depth: Option<usize>,
        glob: Option<&PathGlob>,
        cancel: &CancellationToken,
        visit: &mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
    ) {
        let asked = |entry: &Entry<'_>| {
            glob.is_none_or(|glob| glob.matches(&entry.shown) || glob.matches(&entry.below))
        };
        let visible = |entry: &Entry<'_>| {
            let full = self.workspace.full(start, &entry.rel);
            self.may_see(entry.kind, &entry.shown, &full)
        };
        walk(&self.workspace, start, depth, &mut |entry| match cancel.is_cancelled() {
            true => ControlFlow::Break(()),
            false if asked(entry) && visible(entry) => visit(entry),
            false => ControlFlow::Continue(()),
        });
    }

    /// Folders are seen that no denial speaks of: what is allowed may lie below.
    fn may_see(&self, kind: FileKind, shown: &str, full: &Path) -> bool {
        match kind {
            FileKind::Directory => !self.rules.denies(shown, full),
            _ => self.rules.permit(shown, full),
        }
    }

    /// A change that a tool has made, with what changed in the text, masked.
    pub(crate) fn change(
        &self,
        place: &WriteTarget,
        before: PriorState,
        after: Option<(FileState, &[u8])>,
    ) -> Change {
        let mask = |text: &str| self.redactor.mask_text(text).into_owned();
        let small = |bytes: &[u8]| match bytes.len() as u64 <= SMALL {
            true => std::str::from_utf8(bytes).ok().map(mask),
            false => None,
        };
        let old = before.text.as_deref().and_then(|text| small(text.as_bytes()));
        let new = after.as_ref().and_then(|(_, bytes)| small(bytes));
        let change = Change::new(place.shown.clone(), before.state, after.map(|(state, _)| state));
        change.with_texts(old.as_deref(), new.as_deref())
    }

    /// What a tool that only reads has looked at.
    pub(crate) fn seen(located: &LocatedPath, sha256: Option<Digest>) -> EvidenceRef {
        EvidenceRef { kind: "file".to_owned(), reference: located.shown.clone(), sha256 }
    }

    fn forbidden(&self, path: &str) -> PathError {
        PathError::Forbidden { path: path.to_owned(), tool: self.tool.to_owned() }
    }
}
