//! The JSON form of diagnostics.

use kb_base::diagnostic::{Code, Diagnostic, Severity, Sources};
use serde::Serialize;

/// A problem in a definition, for `validate --json`. Lines and columns start at 1, columns count
/// characters. Path, lines and columns are null if the problem has no position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A stable code such as `KB0101`.
    pub code: Code,
    /// `error`, `warning` or `info`.
    pub severity: Severity,
    /// Description of the problem.
    pub message: String,
    /// The fix, if one is known.
    pub help: Option<String>,
    /// Path of the file, relative to the project if it is inside.
    pub path: Option<String>,
    /// Line of the first character, from 1.
    pub line: Option<u32>,
    /// Column of the first character, from 1.
    pub column: Option<u32>,
    /// Line of the last character.
    pub end_line: Option<u32>,
    /// One past the last column.
    pub end_column: Option<u32>,
}

impl Problem {
    /// The JSON form of a diagnostic.
    pub fn of(diagnostic: &Diagnostic, sources: &Sources) -> Problem {
        let span = diagnostic.span;
        let start = span.map(|span| sources.position(span.source, span.start));
        let end = span.map(|span| sources.position(span.source, span.end));
        Problem {
            code: diagnostic.code,
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
