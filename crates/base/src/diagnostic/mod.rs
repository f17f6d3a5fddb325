//! Diagnostics: problems in definitions, with position, cause and fix.
//!
//! Pure. A [`Diagnostic`] has a stable [`Code`], and each code has a page in `pages/`
//! (`kb explain KB0101`). [`render`] draws it with the source line and a caret; the caller decides
//! about colour.

mod code;
mod foreign_words;
mod pages;
mod render;
mod source;

use std::sync::atomic::{AtomicU32, Ordering};

pub use code::Code;
pub use foreign_words::{foreign_word, foreign_words};
pub use render::{render, summary};
pub use source::{Position, Source, SourceId, Sources, Span};

use serde::{Deserialize, Serialize};

/// How severe a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information only.
    Info,
    /// The definition runs, but probably not as intended.
    Warning,
    /// The definition cannot run.
    Error,
}

/// A secondary position of a diagnostic with its explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The bytes to underline.
    pub span: Span,
    /// A fragment such as `first used here`.
    pub text: String,
}

/// One problem of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable code.
    pub code: Code,
    /// Whether the definition can still be used.
    pub severity: Severity,
    /// The message: a lower-case fragment, literals in backticks, no full stop.
    pub message: String,
    /// The position; `None` if the problem is in no file.
    pub span: Option<Span>,
    /// Text beside the caret; may be empty.
    pub caption: String,
    /// Secondary positions.
    pub labels: Vec<Label>,
    /// How to fix it: a sentence after `help:`.
    pub help: Option<String>,
}

impl Diagnostic {
    fn new(severity: Severity, code: Code, span: Option<Span>, message: String) -> Self {
        let (caption, labels, help) = (String::new(), Vec::new(), None);
        Diagnostic { code, severity, message, span, caption, labels, help }
    }

    /// A problem with which the definition cannot run.
    pub fn error(code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span.into(), message.into())
    }

    /// A problem with which the definition still runs.
    pub fn warning(code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span.into(), message.into())
    }

    /// Information that needs no action.
    pub fn info(code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, code, span.into(), message.into())
    }

    /// Adds a sentence about the fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the text beside the caret.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a secondary position.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Whether the definition cannot run with this problem.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The valid name that is most similar to a misspelled one, for `did you mean …?`. At most a third of
/// the letters, and at most three, may differ; of up to four letters, one.
pub fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    valid
        .into_iter()
        .filter_map(|other| {
            let other_length = other.chars().count();
            let longer = other_length.max(length);
            let most = if longer <= 4 { 1 } else { longer.div_ceil(3).min(3) };
            // The distance is at least the difference of the lengths.
            let distance =
                (other_length.abs_diff(length) <= most).then(|| edit_distance(name, other))?;
            (distance <= most).then_some((distance, other))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

/// How often [`nearest`] searches for one definition. A file can have a hundred thousand unknown names, and
/// only its first errors are listed.
#[derive(Debug, Default)]
pub struct Suggestions(AtomicU32);

impl Suggestions {
    const MOST: u32 = 200;

    /// Whether no search is left.
    pub fn are_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= Self::MOST
    }

    /// [`nearest`], or `None` after 200 searches.
    pub fn nearest<'a>(
        &self,
        name: &str,
        valid: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let searches = self.0.fetch_add(1, Ordering::Relaxed);
        (searches < Self::MOST).then(|| nearest(name, valid)).flatten()
    }
}

impl Clone for Suggestions {
    fn clone(&self) -> Self {
        Suggestions(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}

/// The number of insertions, deletions, replacements and swaps of adjacent letters between two names
/// (optimal string alignment distance).
pub fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_nearest_name_within_the_limit() {
        assert_eq!(nearest("biuld", ["fetch", "build"]), Some("build"));
        assert_eq!(nearest("dependOn", ["dependsOn", "condition"]), Some("dependsOn"));
        assert_eq!(nearest("zzz", ["fetch", "build"]), None);
        assert_eq!(edit_distance("ab", "ba"), 1);
    }

    #[test]
    fn a_code_has_one_page() {
        let mut codes: Vec<Code> = Code::all().collect();
        codes.sort();
        let twice = codes.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None);
    }
}
