//! Recorded runs as use cases: list, show, log, output, file changes, audit.

use super::runs::{self, ProjectContext};
use super::{Difference, ServiceError};
use kb_base::value::{Digest, Json, RunId, Timestamp, parse_duration};
use kb_core::redaction::Masked;
use kb_core::run::RunStatus;
use kb_core::wire::RunView;
use kb_engine::inspect::{
    self, Audit, AuditedCall, Frozen, Reader, RecordedSession, RunDiff, RunFilter, find_run,
};
use kb_engine::journal::Journal;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The runs of a project that a filter includes, newest first.
pub fn list_runs(
    context: &ProjectContext,
    filter: &RunFilter,
) -> Result<Vec<Masked<RunView>>, ServiceError> {
    let now = context.clock().now();
    Ok(inspect::list_runs(&context.journal(Default::default())?, filter, now)?)
}

/// Why runs of a project cannot be listed, each with the id of its run.
pub fn damaged_runs(context: &ProjectContext) -> Result<Vec<String>, ServiceError> {
    Ok(context.journal(Default::default())?.damaged()?)
}

/// A time that a person gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointInTime {
    /// This time.
    At(Timestamp),
    /// This long before now.
    Ago(Duration),
}

impl PointInTime {
    /// Reads a time in RFC 3339, or a duration such as `10m`; `None` if the text is neither.
    pub fn parse(text: &str) -> Option<PointInTime> {
        let time = Timestamp::parse(text).map(PointInTime::At);
        time.or_else(|| parse_duration(text).ok().map(PointInTime::Ago))
    }

    /// The time that is meant now.
    pub fn at(self, now: Timestamp) -> Timestamp {
        match self {
            PointInTime::At(time) => time,
            PointInTime::Ago(ago) => {
                Timestamp(now.0.saturating_sub(ago.as_millis().try_into().unwrap_or(i64::MAX)))
            }
        }
    }
}

/// One run with its steps.
pub fn show_run(context: &ProjectContext, run: &str) -> Result<Masked<RunView>, ServiceError> {
    let view = read_run(context, run)?.view(context.clock().now())?;
    Ok(match RunId::new(view.run.as_str()) {
        Ok(run) => RunView::with_trees(view, runs::trees_of(context, &run)),
        Err(_) => view,
    })
}

/// Whether a file of the definitions of a run is not what it was when the run started.
pub fn has_changed(context: &ProjectContext, run: &str) -> bool {
    let journal = context.journal(Default::default());
    journal.is_ok_and(|journal| has_changed_since(&*journal, &context.root, run))
}

/// The same for a run of an open journal, with the folder of the project.
pub fn has_changed_since(journal: &dyn Journal, root: &Path, run: &str) -> bool {
    let frozen = find_run(journal, run).and_then(|run| Frozen::of_run(journal, &run));
    frozen.is_ok_and(|frozen| !frozen.changed_since(root).is_empty())
}

/// One run with all its child runs, by id, each with its steps.
pub fn show_children(
    context: &ProjectContext,
    run: &RunView,
) -> Result<BTreeMap<String, Masked<RunView>>, ServiceError> {
    let journal = context.journal(Default::default())?;
    let mut found: BTreeMap<String, Masked<RunView>> = BTreeMap::new();
    let ids = |run: &RunView| {
        run.steps.iter().filter_map(|step| step.child_run.clone()).collect::<Vec<_>>()
    };
    let mut open: Vec<String> = ids(run);
    while let Some(id) = open.pop() {
        // A child run that is recorded, and not created yet.
        let Ok(mut reader) = Reader::open(journal.clone(), &id) else { continue };
        let child = reader.view(context.clock().now())?;
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

/// What a person reads before an approval.
pub fn difference(context: &ProjectContext, run: &str) -> Result<Difference, ServiceError> {
    let journal = context.journal(Default::default())?;
    Difference::of(&journal, &context.root, run, context.clock().now())
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
