//! The text of one expression with its position in the file.

use super::keys::PathSegment;
use super::names::{Names, Origin};
use super::reference::Reference;
use super::resolve::{Resolved, Unresolved, resolve};
use super::scan::ScanProblem;
use kb_base::diagnostic::{Diagnostic, Span};
use std::ops::Range;

/// One expression with its position in the file.
pub(super) struct SourceText<'a> {
    /// The text for minijinja; as long as the text in the file.
    pub(super) code: &'a str,
    /// Offset of the expression in the text of `origin`.
    pub(super) base: usize,
    pub(super) origin: Origin,
    pub(super) names: &'a Names,
    /// The parts in single braces.
    pub(super) braces: &'a [Range<usize>],
}

impl SourceText<'_> {
    /// The span in the file of a part of the code.
    pub(super) fn span(&self, at: Range<usize>) -> Span {
        let Some(start) = self.origin.verbatim else { return self.origin.span };
        let start = start as usize + self.base;
        Span::new(self.origin.span.source, start + at.start, start + at.end)
    }

    pub(super) fn diagnostic_of(&self, problem: ScanProblem) -> Diagnostic {
        Diagnostic::error(problem.code, self.span(problem.at), problem.message).help(problem.help)
    }

    pub(super) fn unresolved(&self, problem: Unresolved) -> Diagnostic {
        let diagnostic = Diagnostic::error(problem.code, self.span(problem.at), problem.message);
        Diagnostic { help: problem.help, ..diagnostic }
    }

    /// The reference of a path at a part of the code.
    pub(super) fn read(
        &self,
        path: &[PathSegment],
        at: Range<usize>,
        guarded: bool,
    ) -> Result<Reference, Unresolved> {
        let in_braces = self.braces.iter().any(|braces| braces.contains(&at.start));
        let Resolved { root, keys } = resolve(self.names, path, in_braces)?;
        Ok(Reference { root, keys, guarded, beside_number: false, span: self.span(at) })
    }
}
