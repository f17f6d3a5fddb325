//! What is wrong with what people wrote: where, why, and the mend.
//!
//! Pure. A [`Diagnostic`] carries a stable [`Code`] with a page of its own (`kb explain KB0101`).
//! [`render`] draws it with the source line and a caret; it decides no colour by itself.

mod code;
mod pages;
mod render;
mod source;

pub use code::Code;
pub use render::{render, summary};
pub use source::{Position, Source, SourceId, Sources, Span};

use serde::Serialize;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Runs, but probably not as meant.
    Warning,
    /// Does not run.
    Error,
}

/// A second place that belongs to a problem, with what it has to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What about it; a fragment such as `first used here`.
    pub text: String,
}

/// One problem of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its stable code.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong: a lower-case fragment, literals in backticks, no full stop.
    pub message: String,
    /// Where; `None` where there is no file to point into.
    pub span: Option<Span>,
    /// What stands at that place, beside the caret; may be empty.
    pub caption: String,
    /// Further places.
    pub labels: Vec<Label>,
    /// The mend.
    pub help: Option<String>,
}

impl Diagnostic {
    fn new(severity: Severity, code: Code, span: Option<Span>, message: String) -> Self {
        let (caption, labels, help) = (String::new(), Vec::new(), None);
        Diagnostic { code, severity, message, span, caption, labels, help }
    }

    /// A problem that keeps the definition from running.
    pub fn error(code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span.into(), message.into())
    }

    /// A problem that does not.
    pub fn warning(code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span.into(), message.into())
    }

    /// Something worth knowing.
    pub fn info(code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, code, span.into(), message.into())
    }

    /// Adds the mend.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says what stands at the place itself.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Whether it keeps a definition from running.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The nearest of some known names to a misspelt one, for `did you mean …?`; at most a third of the
/// letters may differ.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (edit_distance(word, name), name))
        .filter(|(distance, name)| {
            *distance <= name.chars().count().max(word.chars().count()).div_ceil(3).min(3)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The number of single-letter insertions, deletions, replacements and neighbour swaps between two
/// words (optimal string alignment).
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
    fn suggests_the_nearest_name_and_nothing_far() {
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
