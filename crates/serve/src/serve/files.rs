//! Turns new and changed files into fires.
//!
//! The files of each trigger are compared every two seconds, also with what they were when the last daemon
//! stopped. A file counts when it has not changed between two comparisons, so that a file that is still
//! being written is left alone. Symbolic links are not followed. The comparison is work of its own
//! ([`FileScan`]): it delays no schedule and no other project.

use super::catalog::TriggerCatalog;
use super::event::Event;
use super::events::{enabled, event_fire};
use super::file_scan::{FileScan, FoundFile, WatchedPaths};
use super::shared::DaemonHandle;
use kb_base::value::{Json, Timestamp};
use kb_language::definition::TriggerSource;
use kb_language::schedule::ActiveRuns;
use kb_service::service::ServiceError;
use kb_service::trigger::{FiredFile, Recorded, TriggerStore};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Interval between two comparisons.
const INTERVAL: Duration = Duration::from_secs(2);

/// What the daemon knows about the files of triggers.
pub(super) struct WatchedFiles {
    compared: Option<Timestamp>,
    scan: Scan,
    /// Found and not recorded yet.
    found: Vec<FoundFile>,
    /// Number of files whose digest is left to the next comparison.
    pub(super) waiting: usize,
    stop: CancellationToken,
    /// Ends a comparison with the daemon.
    _stop: DropGuard,
}

/// The state of the comparison.
enum Scan {
    Idle(FileScan),
    Running(oneshot::Receiver<(FileScan, Vec<FoundFile>)>),
}

impl Default for WatchedFiles {
    fn default() -> WatchedFiles {
        let stop = CancellationToken::new();
        WatchedFiles {
            compared: None,
            scan: Scan::Idle(FileScan::default()),
            found: Vec::new(),
            waiting: 0,
            _stop: stop.clone().drop_guard(),
            stop,
        }
    }
}

impl WatchedFiles {
    /// Takes the result of a comparison that has ended. Returns whether files wait to be recorded.
    pub(super) fn have_found(&mut self) -> bool {
        if let Scan::Running(result) = &mut self.scan {
            match result.try_recv() {
                Ok((scan, found)) => {
                    self.waiting = scan.waiting;
                    self.found.extend(found);
                    self.scan = Scan::Idle(scan);
                }
                // The store knows what has fired.
                Err(oneshot::error::TryRecvError::Closed) => {
                    self.scan = Scan::Idle(FileScan::default());
                }
                Err(oneshot::error::TryRecvError::Empty) => {}
            }
        }
        !self.found.is_empty()
    }

    /// Starts a comparison if one is due and none is running.
    pub(super) fn compare(
        &mut self,
        root: &Path,
        store: &TriggerStore,
        catalog: &TriggerCatalog,
        daemon: &DaemonHandle,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let is_due = self.compared.is_none_or(|last| now < last || now.since(last) >= INTERVAL);
        let Scan::Idle(scan) = &mut self.scan else { return Ok(()) };
        if !is_due {
            return Ok(());
        }
        self.compared = Some(now);
        let states = store.states()?;
        let is_file = |source: &TriggerSource| matches!(source, TriggerSource::File(_));
        let mut watched = Vec::new();
        for (loaded, state) in enabled(catalog, &states, is_file) {
            let TriggerSource::File(source) = &loaded.trigger.source else { continue };
            let (trigger, globs) = (loaded.id.clone(), source.paths.clone());
            watched.push(WatchedPaths { trigger, globs, enabled: state.cursor });
        }
        if watched.is_empty() {
            *scan = FileScan::default();
            return Ok(());
        }
        let mut scan = std::mem::take(scan);
        let (root, stop, daemon) = (root.to_owned(), self.stop.clone(), daemon.clone());
        let (send, receive) = oneshot::channel();
        self.scan = Scan::Running(receive);
        tokio::task::spawn_blocking(move || {
            let found = scan.compare(&root, &watched, &stop);
            let some = !found.is_empty();
            // A daemon that has ended receives nothing.
            if send.send((scan, found)).is_ok() && some {
                daemon.wake();
            }
        });
        Ok(())
    }

    /// The fires of the files that were found.
    pub(super) fn fires(
        &self,
        store: &TriggerStore,
        catalog: &TriggerCatalog,
        active: &mut BTreeMap<String, ActiveRuns>,
    ) -> Result<Vec<Recorded>, ServiceError> {
        let states = store.states()?;
        let is_file = |source: &TriggerSource| matches!(source, TriggerSource::File(_));
        let mut all = Vec::new();
        for (loaded, state) in enabled(catalog, &states, is_file) {
            let active = active.entry(loaded.id.clone()).or_default();
            let mut fires = Vec::new();
            let own = |file: &&FoundFile| file.trigger == loaded.id && file.enabled == state.cursor;
            // The last content of each path that fired.
            let mut last: BTreeMap<&str, FiredFile> = BTreeMap::new();
            for file in self.found.iter().filter(own) {
                let before = match last.get(file.path.as_str()) {
                    Some(fired) => Some(*fired),
                    None => store.last_file(&loaded.id, &file.path)?,
                };
                if before.is_some_and(|fired| fired.digest == file.digest) {
                    continue;
                }
                let number = before.map_or(1, |fired| fired.number.saturating_add(1));
                let fired = FiredFile { number, digest: file.digest };
                let payload = json!({"path": file.path, "digest": file.digest.to_string()});
                let event = Event { payload: &payload, headers: &Json::Null, depth: 0 };
                fires.push(event_fire(loaded, state, fired.key(&file.path), &event, active));
                last.insert(&file.path, fired);
            }
            if !fires.is_empty() {
                all.push(Recorded { trigger: loaded.id.clone(), cursor: state.cursor, fires });
            }
        }
        Ok(all)
    }

    /// The fires of the files that were found are stored.
    pub(super) fn recorded(&mut self) {
        self.found.clear();
    }
}
