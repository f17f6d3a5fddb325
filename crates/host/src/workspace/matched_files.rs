//! Files that match a glob and a pattern, as `file` checks observe them.

use super::{PathError, Workspace};
use kb_core::verify::{FileCriterion, MatchedFile, ObservationError};
use regex::bytes::{Regex, RegexBuilder};

/// Maximum size of a file that is searched for a regular expression, in bytes.
const SEARCHED_BYTES: u64 = 64 << 20;

/// The files that match a glob, each with the number of matches of a regular expression.
///
/// # Errors
///
/// Why they cannot be observed; a pattern that cannot be read counts as refused.
pub(crate) fn matched_files(
    workspace: &Workspace,
    pattern: &str,
    count: Option<&str>,
) -> Result<Vec<MatchedFile>, ObservationError> {
    let regex = count.map(line_pattern).transpose().map_err(|error| ObservationError {
        denied: true,
        reason: format!("`{}` is not a regular expression: {error}", count.unwrap_or_default()),
    })?;
    let paths = workspace.glob(pattern).map_err(not_observed)?;
    let file = |path: String| {
        let occurrences = regex.as_ref().and_then(|regex| occurrences(workspace, &path, regex));
        MatchedFile { path, occurrences }
    };
    Ok(paths.into_iter().map(file).collect())
}

impl Workspace {
    /// Whether files are as a `file` check says, but for changes; also if they cannot be observed.
    pub fn meets(&self, check: &FileCriterion) -> bool {
        let count = check.count.as_ref().map(|count| count.pattern.as_str());
        matched_files(self, &check.pattern, count).map_or(true, |files| check.holds(&files))
    }
}

/// A regular expression in which `^` and `$` are the ends of a line, as in search tools.
fn line_pattern(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).multi_line(true).crlf(true).build()
}

/// Number of matches of a regular expression; `None` if the file cannot be read or is too large.
fn occurrences(workspace: &Workspace, path: &str, regex: &Regex) -> Option<u64> {
    let state = workspace.stat(path).ok()??;
    if state.size > SEARCHED_BYTES {
        return None;
    }
    let bytes = workspace.read_file(path).ok()?;
    Some(regex.find_iter(&bytes).count() as u64)
}

/// Why a path cannot be observed.
pub(crate) fn not_observed(error: PathError) -> ObservationError {
    // A pattern that cannot be read never passes, so it counts as refused.
    let denied = error.is_denial() || matches!(error, PathError::BadGlob { .. });
    ObservationError { denied, reason: error.to_string() }
}
