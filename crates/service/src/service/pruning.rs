//! Removing recorded runs that ended long ago. Child runs stay and go with their parent.

use super::runs::ProjectContext;
use super::{Environment, Project, ServiceError};
use kb_base::value::RunId;
use kb_engine::journal::{Journal, JournalError, RunRow};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The age from which runs are removed, unless the settings say otherwise.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);

/// Which runs are removed.
#[derive(Debug, Clone, Copy)]
pub struct PruneRequest {
    /// Minimum time since the end of a run; `None` uses `journal.retention` of the settings.
    pub older_than: Option<Duration>,
    /// Number of newest runs that stay, whatever their age. Child runs do not count.
    pub keep: usize,
    /// Whether the runs are only listed (a dry run).
    pub dry_run: bool,
}

/// The runs that were removed.
#[derive(Debug, Clone, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// Ids of the runs, newest first, each followed by its child runs.
    pub runs: Vec<String>,
    /// Size of the blobs that were removed, in bytes.
    pub blob_bytes: u64,
}

/// Removes runs that ended long ago with their child runs, and the blobs that only they referred to. A run
/// that is driven, waits or can be resumed stays with all its child runs, and so does its parent.
pub fn prune_runs(
    environment: &Environment,
    request: PruneRequest,
) -> Result<Pruned, ServiceError> {
    let context = ProjectContext::find(environment)?;
    let older_than = match request.older_than {
        Some(age) => age,
        None => Project::find(environment)?.catalog.settings.journal.retention.unwrap_or(RETENTION),
    };
    let journal = context.journal(Default::default())?;
    let now = context.clock().now();
    let is_old = |row: &RunRow| row.ended_at.is_some_and(|ended| now.since(ended) >= older_than);
    let is_removable = |row: &RunRow| row.status.has_ended() && is_old(row);
    let mut pruned = Pruned::default();
    for family in families(&*journal)?.into_iter().skip(request.keep) {
        if !family.iter().all(is_removable) {
            continue;
        }
        for row in family {
            match if request.dry_run { Ok(()) } else { journal.remove(&row.run) } {
                Ok(()) => pruned.runs.push(row.run.to_string()),
                // Another process continues or removed it at this moment. The parent comes first: if it
                // stays, so do its child runs.
                Err(JournalError::Leased { .. } | JournalError::NoRun(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
    }
    if !request.dry_run {
        pruned.blob_bytes = journal.remove_unused_blobs()?;
    }
    Ok(pruned)
}

/// The runs of a journal, newest first, each with the child runs at every level below it.
fn families(journal: &dyn Journal) -> Result<Vec<Vec<RunRow>>, ServiceError> {
    // In this order, a child run that starts meanwhile is not taken for a run of its own.
    let rows = journal.list()?;
    let mut parents = journal.parents()?;
    let known: BTreeSet<&RunId> = rows.iter().map(|row| &row.run).collect();
    parents.retain(|_, parent| known.contains(parent));
    // The nearest run above that has no parent. The number of steps is bounded for a damaged journal.
    let top = |run: &RunId| {
        let above = |run: &RunId| parents.get(run).cloned();
        std::iter::successors(Some(run.clone()), above).take(rows.len()).last()
    };
    let mut below: BTreeMap<RunId, Vec<RunRow>> = BTreeMap::new();
    let mut tops = Vec::new();
    for row in &rows {
        match top(&row.run).filter(|top| *top != row.run) {
            Some(top) => below.entry(top).or_default().push(row.clone()),
            None => tops.push(row.clone()),
        }
    }
    let family = |top: RunRow| {
        let below = below.remove(&top.run).unwrap_or_default();
        std::iter::once(top).chain(below).collect()
    };
    Ok(tops.into_iter().map(family).collect())
}
