//! Views of runs that have ended, and the last logs that were read. A view of a run that has ended does not
//! change until the run is reopened.

use kb_base::value::{RunId, Timestamp};
use kb_core::redaction::Masked;
use kb_core::wire::RunView;
use kb_engine::inspect::{Attempts, StepLog, run_view};
use kb_engine::journal::{Journal, RunRow};
use kb_service::service::ServiceError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of kept views, without steps.
const MOST_VIEWS: usize = 4096;
/// Maximum size of the kept log in bytes; a larger one is read again each time.
const LARGEST_LOG: usize = 24 << 20;

/// A run of a project.
type Key = (usize, RunId);

/// The epoch of a run, its end, and its view at that time.
type Head = (u64, Option<Timestamp>, Arc<Masked<RunView>>);

/// The kept views and the last log.
#[derive(Default)]
pub(super) struct Views {
    heads: Mutex<BTreeMap<Key, Head>>,
    log: Mutex<Option<(LogKey, Arc<StepLog>)>>,
}

/// A log as it was at one event.
pub(super) type LogKey = (usize, RunId, (String, Attempts), u64);

impl Views {
    /// The view of a run without its steps.
    pub(super) fn head(
        &self,
        project: usize,
        journal: &Arc<dyn Journal>,
        row: &RunRow,
        now: Timestamp,
    ) -> Result<Arc<Masked<RunView>>, ServiceError> {
        let key = (project, row.run.clone());
        let heads = || self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        if row.status.has_ended()
            && let Some((epoch, ended, view)) = heads().get(&key)
            && (*epoch, *ended) == (row.epoch, row.ended_at)
        {
            return Ok(view.clone());
        }
        let view = run_view(journal, row.clone(), now)?;
        let view = Arc::new(RunView::without_steps(view));
        if row.status.has_ended() {
            let mut heads = heads();
            if heads.len() >= MOST_VIEWS {
                heads.clear();
            }
            heads.insert(key, (row.epoch, row.ended_at, view.clone()));
        }
        Ok(view)
    }

    /// The log with this key, if it was the last one.
    pub(super) fn log(&self, key: &LogKey) -> Option<Arc<StepLog>> {
        let kept = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(own, _)| own == key).map(|(_, log)| log.clone())
    }

    /// Keeps the log that was read last, unless it is large.
    pub(super) fn keep_log(&self, key: LogKey, log: &Arc<StepLog>) {
        if log.text().len() <= LARGEST_LOG {
            *self.log.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, log.clone()));
        }
    }
}
