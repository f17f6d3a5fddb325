//! A journal without a disk, for tests and simulation; clones share it.

use super::selection::select_run;
use super::{Batch, InboxItem, Journal, JournalError, NewRun, RunRow, StoredEvent};
use crate::run::RunStatus;
use crate::value::{Digest, Json, RunId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps the promises of [`Journal`] for as long as it lives.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    /// In the order of their creation.
    runs: Vec<Stored>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    posted: i64,
}

#[derive(Debug)]
struct Stored {
    row: RunRow,
    frozen: Json,
    held: bool,
    events: Vec<StoredEvent>,
    inbox: Vec<InboxItem>,
    keys: BTreeSet<String>,
}

impl MemoryJournal {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the end of a process does: nothing is held any more.
    pub fn expire_leases(&self) {
        self.lock().runs.iter_mut().for_each(|stored| stored.held = false);
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn find(&mut self, run: &RunId) -> Result<&mut Stored, JournalError> {
        let found = self.runs.iter_mut().find(|stored| stored.row.run == *run);
        found.ok_or_else(|| JournalError::NoRun(run.to_string()))
    }
}

impl Stored {
    fn row(&self) -> RunRow {
        let mut row = self.row.clone();
        if row.status == RunStatus::Running && !self.held {
            row.status = RunStatus::Interrupted;
        }
        row
    }
}

impl Journal for MemoryJournal {
    fn create(&self, new: NewRun) -> Result<u64, JournalError> {
        let mut contents = self.lock();
        if contents.find(&new.run).is_ok() {
            return Err(JournalError::Broken(format!("run `{}` is there already", new.run)));
        }
        let row = RunRow {
            run: new.run,
            definition: new.definition,
            status: RunStatus::Running,
            started_at: new.at,
            ended_at: None,
            epoch: 1,
            kb_version: env!("CARGO_PKG_VERSION").into(),
        };
        let (events, inbox, keys) = (Vec::new(), Vec::new(), BTreeSet::new());
        let frozen = new.frozen;
        contents.runs.push(Stored { row, frozen, held: true, events, inbox, keys });
        Ok(1)
    }

    fn take(&self, run: &RunId) -> Result<u64, JournalError> {
        let mut contents = self.lock();
        let stored = contents.find(run)?;
        if stored.held {
            return Err(JournalError::Leased { run: run.to_string(), pid: std::process::id() });
        }
        stored.held = true;
        stored.row.epoch += 1;
        Ok(stored.row.epoch)
    }

    fn release(&self, run: &RunId, epoch: u64) {
        if let Ok(stored) = self.lock().find(run)
            && stored.row.epoch == epoch
        {
            stored.held = false;
        }
    }

    fn append(&self, run: &RunId, epoch: u64, batch: Batch<'_>) -> Result<u64, JournalError> {
        let Batch { expected, at, events, status, taken, durability: _ } = batch;
        let mut contents = self.lock();
        let stored = contents.find(run)?;
        if !stored.held || stored.row.epoch != epoch {
            return Err(JournalError::LeaseLost(run.to_string()));
        }
        let last = stored.events.len() as u64;
        if last != expected {
            return Err(JournalError::out_of_sequence(run, expected, last));
        }
        let placed = (last + 1..).zip(events);
        let placed = placed.map(|(seq, event)| {
            let (event, digest) = (event.clone(), None);
            StoredEvent { seq, at, epoch, event, digest }
        });
        stored.events.extend(placed);
        stored.inbox.retain(|item| !taken.contains(&item.id));
        stored.row.status = status;
        stored.row.ended_at = status.has_ended().then_some(at);
        Ok(stored.events.len() as u64)
    }

    fn read_events(
        &self,
        run: &RunId,
        after: u64,
        most: usize,
    ) -> Result<Vec<StoredEvent>, JournalError> {
        let mut contents = self.lock();
        let events = &contents.find(run)?.events;
        Ok(events.iter().skip(after as usize).take(most).cloned().collect())
    }

    fn head(&self, run: &RunId) -> Result<Option<Digest>, JournalError> {
        self.lock().find(run).map(|_| None)
    }

    fn run(&self, run: &RunId) -> Result<RunRow, JournalError> {
        Ok(self.lock().find(run)?.row())
    }

    fn frozen(&self, run: &RunId) -> Result<Json, JournalError> {
        self.lock().find(run).map(|stored| stored.frozen.clone())
    }

    fn list(&self) -> Result<Vec<RunRow>, JournalError> {
        Ok(self.lock().runs.iter().rev().map(Stored::row).collect())
    }

    fn find(&self, text: &str) -> Result<RunId, JournalError> {
        let newest_first: Vec<RunId> =
            self.lock().runs.iter().rev().map(|stored| stored.row.run.clone()).collect();
        select_run(text, &newest_first)
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<Digest, JournalError> {
        let digest = Digest::of(bytes);
        self.lock().blobs.entry(digest).or_insert_with(|| bytes.to_vec());
        Ok(digest)
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, JournalError> {
        let found = self.lock().blobs.get(digest).cloned();
        found.ok_or_else(|| JournalError::Damaged(format!("blob `{digest}` is missing")))
    }

    fn post(&self, run: &RunId, key: &str, kind: &str, body: Json) -> Result<(), JournalError> {
        let mut contents = self.lock();
        let id = contents.posted + 1;
        let stored = contents.find(run)?;
        if stored.keys.insert(key.to_owned()) {
            stored.inbox.push(InboxItem { id, kind: kind.to_owned(), body });
            contents.posted = id;
        }
        Ok(())
    }

    fn inbox(&self, run: &RunId) -> Result<Vec<InboxItem>, JournalError> {
        Ok(self.lock().find(run)?.inbox.clone())
    }

    fn taken(&self, run: &RunId, epoch: u64, ids: &[i64]) -> Result<(), JournalError> {
        let mut contents = self.lock();
        let stored = contents.find(run)?;
        if !stored.held || stored.row.epoch != epoch {
            return Err(JournalError::LeaseLost(run.to_string()));
        }
        stored.inbox.retain(|item| !ids.contains(&item.id));
        Ok(())
    }

    fn is_leased(&self, run: &RunId) -> Result<bool, JournalError> {
        Ok(self.lock().find(run)?.held)
    }
}
