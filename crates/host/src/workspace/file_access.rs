//! The workspace as one tool may use it: the path guard, narrowed by path rules.

use super::content::SMALL;
use super::ignore_rules::IgnoreRules;
use super::path_error::PathError;
use super::path_glob::PathGlob;
use super::path_guard::{LocatedPath, Workspace};
use super::path_rules::PathRules;
use super::text_diff::with_diff;
use super::walk::{Entry, walk};
use super::write_target::{PriorState, WriteTarget};
use kb_base::value::Digest;
use kb_core::evidence::{Change, EvidenceKind, EvidenceRef, FileKind, FileState};
use kb_core::redaction::Redactor;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The workspace as one tool may use it: the path guard, narrowed by the path rules of the
/// settings.
#[derive(Clone)]
pub(crate) struct FileAccess {
    pub(crate) workspace: Workspace,
    pub(crate) rules: Arc<PathRules>,
    pub(crate) tool: Cow<'static, str>,
    pub(crate) redactor: Arc<Redactor>,
}

impl FileAccess {
    /// Resolves a path for reading.
    pub(crate) fn locate(&self, path: &str) -> Result<LocatedPath, PathError> {
        let located = self.workspace.locate(path)?;
        let permitted = self.may_see(located.kind(), &located.shown, &located.full);
        if permitted { Ok(located) } else { Err(self.forbidden(path)) }
    }

    /// Resolves a path for writing or removing; a link is followed if `follow` is set.
    pub(crate) fn writable(&self, path: &str, follow: bool) -> Result<WriteTarget, PathError> {
        let target = WriteTarget::find(&self.workspace, path, follow)?;
        if self.permit(&target.shown) { Ok(target) } else { Err(self.forbidden(path)) }
    }

    /// An existing directory, as the working directory of a process; empty is the root.
    pub(crate) fn cwd(&self, path: &str) -> Result<PathBuf, PathError> {
        let cwd = self.workspace.cwd(path)?;
        let rel = cwd.strip_prefix(self.workspace.root()).unwrap_or(&cwd);
        if self.rules.denies(&super::path_text::shown(rel), &cwd) {
            Err(self.forbidden(path))
        } else {
            Ok(cwd)
        }
    }

    /// Whether the rules permit a real path, given as it is shown.
    pub(crate) fn permit(&self, shown: &str) -> bool {
        self.rules.is_empty() || self.rules.permit(shown, &self.workspace.root().join(shown))
    }

    /// Visits the entries below a directory that match a glob and that the rules permit, until the
    /// call is cancelled.
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
        let rules = IgnoreRules::new(None);
        walk(&self.workspace, start, depth, rules, &mut |entry| {
            if cancel.is_cancelled() {
                ControlFlow::Break(())
            } else if asked(entry) && visible(entry) {
                visit(entry)
            } else {
                ControlFlow::Continue(())
            }
        });
    }

    /// Directories are visible unless a denial matches them, because permitted files may lie below.
    fn may_see(&self, kind: FileKind, shown: &str, full: &Path) -> bool {
        match kind {
            FileKind::Directory => !self.rules.denies(shown, full),
            _ => self.rules.permit(shown, full),
        }
    }

    /// The change made by a tool, with a masked diff of small texts.
    pub(crate) fn change(
        &self,
        target: &WriteTarget,
        before: PriorState,
        after: Option<(FileState, &[u8])>,
    ) -> Change {
        let mask = |text: &str| self.redactor.mask_text(text).into_owned();
        let small = |bytes: &[u8]| {
            if bytes.len() as u64 <= SMALL {
                std::str::from_utf8(bytes).ok().map(mask)
            } else {
                None
            }
        };
        let old = before.text.as_deref().and_then(|text| small(text.as_bytes()));
        let new = after.as_ref().and_then(|(_, bytes)| small(bytes));
        let change = Change::new(target.shown.clone(), before.state, after.map(|(state, _)| state));
        with_diff(change, old.as_deref(), new.as_deref())
    }

    /// The evidence of a tool that only reads.
    pub(crate) fn seen(located: &LocatedPath, sha256: Option<Digest>) -> EvidenceRef {
        EvidenceRef {
            kind: EvidenceKind::File,
            reference: located.shown.clone(),
            sha256,
            status: None,
        }
    }

    fn forbidden(&self, path: &str) -> PathError {
        PathError::Forbidden { path: path.to_owned(), tool: self.tool.clone().into_owned() }
    }
}
