//! Recorded runs as use cases: list, show, log, output, file changes, audit.

use super::runs::{self, ProjectContext};
use super::{Environment, Project, ServiceError};
use crate::clock;
use crate::inspect::{self, Audit, AuditedCall, Reader, RecordedSession, RunDiff, RunFilter};
use crate::journal::{JournalError, RunRow};
use crate::run::RunStatus;
use crate::value::{Digest, Json, RunId, Timestamp, parse_duration};
use crate::wire::RunView;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The age from which runs are removed, unless the settings say otherwise.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);

/// The runs of a project that a filter includes, newest first.
pub fn list_runs(
    context: &ProjectContext,
    filter: &RunFilter,
) -> Result<Vec<RunView>, ServiceError> {
    Ok(inspect::list_runs(&context.journal(Default::default())?, filter)?)
}

/// A time in RFC 3339, or a duration before now such as `10m`; `None` if the text is neither.
pub fn point_in_time(text: &str) -> Option<Timestamp> {
    let before = |ago: Duration| {
        Timestamp(clock::now().0.saturating_sub(ago.as_millis().try_into().unwrap_or(i64::MAX)))
    };
    Timestamp::parse(text).or_else(|| parse_duration(text).ok().map(before))
}

/// Which runs are removed.
#[derive(Debug, Clone, Copy)]
pub struct PruneRequest {
    /// Minimum time since the end of a run; `None` uses `journal.retention` of the settings.
    pub older_than: Option<Duration>,
    /// Number of newest runs that stay, whatever their age.
    pub keep: usize,
    /// Whether the runs are only listed (a dry run).
    pub dry_run: bool,
}

/// The runs that were removed.
#[derive(Debug, Clone, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// Ids of the runs, newest first.
    pub runs: Vec<String>,
    /// Size of the blobs that were removed, in bytes.
    pub blob_bytes: u64,
}

/// Removes runs that ended long ago, and the blobs that only they referred to. Runs that are driven,
/// wait or can be resumed stay.
pub fn prune_runs(
    environment: &Environment,
    request: PruneRequest,
) -> Result<Pruned, ServiceError> {
    let context = ProjectContext::find(environment)?;
    let older_than = match request.older_than {
        Some(age) => age,
        None => Project::find(environment)?.catalog.settings.retention.unwrap_or(RETENTION),
    };
    let journal = context.journal(Default::default())?;
    let now = clock::now();
    let is_old = |row: &RunRow| row.ended_at.is_some_and(|ended| now.since(ended) >= older_than);
    let rows = journal.list()?.into_iter().skip(request.keep);
    let mut pruned = Pruned::default();
    for row in rows.filter(|row| row.status.has_ended() && is_old(row)) {
        match if request.dry_run { Ok(()) } else { journal.remove(&row.run) } {
            Ok(()) => pruned.runs.push(row.run.to_string()),
            // Another process continues or removed it at this moment.
            Err(JournalError::Leased { .. } | JournalError::NoRun(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if !request.dry_run {
        pruned.blob_bytes = journal.remove_unused_blobs()?;
    }
    Ok(pruned)
}

/// One run with its steps.
pub fn show_run(context: &ProjectContext, run: &str) -> Result<RunView, ServiceError> {
    let mut view = read_run(context, run)?.view()?;
    if let Ok(run) = RunId::new(view.run.as_str()) {
        view.trees = runs::trees_of(context, &run);
    }
    Ok(view)
}

/// One run with all its child runs, by id, each with its steps.
pub fn show_children(
    context: &ProjectContext,
    run: &RunView,
) -> Result<BTreeMap<String, RunView>, ServiceError> {
    let journal = context.journal(Default::default())?;
    let mut found: BTreeMap<String, RunView> = BTreeMap::new();
    let ids = |run: &RunView| {
        run.steps.iter().filter_map(|step| step.child_run.clone()).collect::<Vec<_>>()
    };
    let mut open: Vec<String> = ids(run);
    while let Some(id) = open.pop() {
        // A child run that is recorded, and not created yet.
        let Ok(mut reader) = Reader::open(journal.clone(), &id) else { continue };
        let child = reader.view()?;
        open.extend(ids(&child));
        found.insert(id, child);
    }
    Ok(found)
}

/// A reader for the events and the log of a run.
pub fn read_run(context: &ProjectContext, run: &str) -> Result<Reader, ServiceError> {
    Ok(Reader::open(context.journal(Default::default())?, run)?)
}

/// The outputs of a run, or the output of one step or item, and the status of the run.
pub fn run_output(
    context: &ProjectContext,
    run: &str,
    step: Option<&str>,
) -> Result<(Arc<Json>, RunStatus), ServiceError> {
    Ok(inspect::run_output(read_run(context, run)?, step)?)
}

/// The recorded file changes of a run, or of one step or item.
pub fn run_diff(
    context: &ProjectContext,
    run: &str,
    step: Option<&str>,
) -> Result<RunDiff, ServiceError> {
    Ok(inspect::run_diff(read_run(context, run)?, step)?)
}

/// What the specialists of a run left behind.
pub fn run_session(context: &ProjectContext, run: &str) -> Result<RecordedSession, ServiceError> {
    Ok(RecordedSession::read(read_run(context, run)?)?)
}

/// Every tool call of a run, with who permitted it.
pub fn audited_calls(
    context: &ProjectContext,
    run: &str,
) -> Result<Vec<AuditedCall>, ServiceError> {
    Ok(inspect::audited_calls(read_run(context, run)?)?)
}

/// Audits a run; `kept` is a head of its hash chain that was stored elsewhere.
pub fn audit_run(
    context: &ProjectContext,
    run: &str,
    kept: Option<Digest>,
) -> Result<Audit, ServiceError> {
    Ok(inspect::audit(&context.journal(Default::default())?, run, kept)?)
}
