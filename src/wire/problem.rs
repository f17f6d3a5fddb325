use crate::diagnostic::{Diagnostic, Sources};
use serde::Serialize;

/// One problem of a definition, as `validate --json` gives it. Lines and columns are from 1, columns
/// in characters; all of them and the path are null where there is no file to point into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A stable code such as `KB0101`.
    pub code: &'static str,
    /// `error`, `warning` or `info`.
    pub severity: crate::diagnostic::Severity,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// The file, relative to the project where it lies inside.
    pub path: Option<String>,
    /// First line.
    pub line: Option<u32>,
    /// First column.
    pub column: Option<u32>,
    /// Last line.
    pub end_line: Option<u32>,
    /// One past the last column.
    pub end_column: Option<u32>,
}

impl Problem {
    /// What a diagnostic says, with its span as lines and columns.
    pub fn of(diagnostic: &Diagnostic, sources: &Sources) -> Problem {
        let span = diagnostic.span;
        let start = span.map(|span| sources.position(span.source, span.start));
        let end = span.map(|span| sources.position(span.source, span.end));
        Problem {
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity,
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            path: span.map(|span| sources.get(span.source).path.to_string()),
            line: start.map(|place| place.line),
            column: start.map(|place| place.column),
            end_line: end.map(|place| place.line),
            end_column: end.map(|place| place.column),
        }
    }
}
