//! The verdict over statements: what a plain sentence says that the record refutes, and what the record leaves open.

use super::finding::Finding;
use super::observation::{Observation, ObservationQuery, Observations};
use super::recorded_changes::RecordedChanges;
use super::statement::Statement;
use super::support::{Record, Support};
use crate::evidence::FileKind;

/// Statements that a reason shows, and the characters of each.
const LISTED: usize = 3;
const SHOWN: usize = 120;

/// The queries for paths that plain sentences name: where each leads, and whether its first folder exists.
pub(super) fn stated_queries(stated: &[String]) -> Vec<ObservationQuery> {
    let both = stated.iter().flat_map(|path| [path.as_str(), first_folder(path)]);
    both.map(|path| ObservationQuery::Location(path.to_owned())).collect()
}

fn first_folder(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

/// What refutes the first stated path that no recorded call changed. A path whose first folder does not exist can be
/// something else, such as the name of a package.
pub(super) fn refuted_path(
    stated: &[String],
    changes: &RecordedChanges<'_>,
    observations: &Observations,
) -> Option<Finding> {
    if changes.gap().is_some() {
        return None;
    }
    let is_recorded = |path: &str| {
        let below = format!("/{path}");
        changes.paths().any(|changed| changed == path || changed.ends_with(&below))
    };
    let location = |path: &str| match observations.get(&ObservationQuery::Location(path.to_owned()))
    {
        Some(Observation::Location(Ok(found))) => Some(found),
        _ => None,
    };
    let is_known = |path: &&String| {
        let Some(found) = location(path) else { return false };
        let target = found.target.as_ref().map(|(target, _)| target.as_str());
        let is_file = found.state.as_ref().is_none_or(|state| state.kind == FileKind::File);
        let elsewhere = is_recorded(&found.entry) || target.is_some_and(is_recorded);
        let has_folder = location(first_folder(path)).is_some_and(|folder| folder.state.is_some());
        is_file && has_folder && !found.ignored && !elsewhere
    };
    let path = stated.iter().filter(|path| !is_recorded(path)).find(is_known)?;
    Some(Finding::failed(format!(
        "the summary says that the step created, changed or deleted `{path}`, but no recorded call did"
    )))
}

/// What the record says about the statements together; `None` if it shows all. `open`: those that raise doubt if the
/// record does not show them.
pub(super) fn statement_finding(
    statements: &[Statement],
    open: &[Statement],
    record: &Record<'_>,
) -> Option<Finding> {
    let refuted = statements.iter().find_map(|said| match record.supports(said) {
        Support::Refuted(reason) => Some(Finding::failed(reason)),
        Support::Shown | Support::Open => None,
    });
    let doubtful = open.iter().filter(|said| record.supports(said) == Support::Open);
    let shown: Vec<String> =
        doubtful.take(LISTED).map(|said| format!("`{}`", short(&said.sentence.text))).collect();
    refuted.or((!shown.is_empty()).then(|| {
        Finding::inconclusive(format!("claims that cannot be checked: {}", shown.join(", ")))
    }))
}

fn short(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}
