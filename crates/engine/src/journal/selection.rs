//! Resolves the name of a run that a person typed.

use super::{JournalError, RunIndex};
use kb_base::value::RunId;

/// Names the newest run that is no child run.
const LAST: &str = "@last";

/// The run that [`LAST`], or `@last:PLAYBOOK` for the newest run of a definition, names. `None` for other texts.
pub(super) fn last_run(runs: &dyn RunIndex, text: &str) -> Option<Result<RunId, JournalError>> {
    let definition = match text.strip_prefix(LAST)? {
        "" => None,
        rest => Some(rest.strip_prefix(':')?),
    };
    let last = runs.latest(definition, None);
    let none = || JournalError::NoRun(text.to_owned());
    Some(last.and_then(|last| last.map(|row| row.run).ok_or_else(none)))
}

/// Selects a run by its id or a unique prefix. The runs are given newest first.
pub(super) fn select_run(text: &str, newest_first: &[RunId]) -> Result<RunId, JournalError> {
    let none = || JournalError::NoRun(text.to_owned());
    if let Some(exact) = newest_first.iter().find(|run| run.as_str() == text) {
        return Ok(exact.clone());
    }
    let mut fitting = newest_first.iter().filter(|run| run.as_str().starts_with(text));
    match (fitting.next(), fitting.count()) {
        (Some(only), 0) if !text.is_empty() => Ok(only.clone()),
        (Some(_), further) if !text.is_empty() => {
            Err(JournalError::Ambiguous { prefix: text.to_owned(), count: further + 1 })
        }
        _ => Err(none()),
    }
}
