//! A journal in memory, for tests and simulation. Clones share one journal.

use super::references::add_digests;
use super::selection::{last_run, select_run};
use super::{
    Batch, Blobs, EventLog, Inbox, InboxItem, Journal, JournalError, Leases, Ledger, LedgerRow,
    NewRun, RunIndex, RunRow, StoredEvent,
};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use kb_base::value::{Digest, Json, RunId};
use kb_core::redaction::Masked;
use kb_core::run::RunStatus;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps the contract of [`Journal`] for as long as the value lives. It keeps no hash chain.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    /// In order of creation.
    runs: Vec<StoredRun>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    last_message: i64,
}

#[derive(Debug)]
struct StoredRun {
    row: RunRow,
    frozen: Json,
    leased: bool,
    events: Vec<StoredEvent>,
    inbox: Vec<InboxItem>,
    /// Keys of all messages ever posted.
    keys: BTreeSet<String>,
}

impl MemoryJournal {
    /// Creates an empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all leases, as the end of the owning process does.
    pub fn expire_leases(&self) {
        self.lock().runs.iter_mut().for_each(|stored| stored.leased = false);
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn find(&mut self, run: &RunId) -> Result<&mut StoredRun, JournalError> {
        let found = self.runs.iter_mut().find(|stored| stored.row.run == *run);
        found.ok_or_else(|| JournalError::NoRun(run.to_string()))
    }

    /// The run, if this is the epoch of its current lease.
    fn find_leased(&mut self, run: &RunId, epoch: u64) -> Result<&mut StoredRun, JournalError> {
        let stored = self.find(run)?;
        if stored.leased && stored.row.epoch == epoch {
            Ok(stored)
        } else {
            Err(JournalError::LeaseLost(run.to_string()))
        }
    }

    fn append(&mut self, run: &RunId, epoch: u64, batch: Batch<'_>) -> Result<u64, JournalError> {
        let Batch { expected, at, events, status, acknowledged, durability: _ } = batch;
        let stored = self.find_leased(run, epoch)?;
        let last = stored.events.len() as u64;
        if last != expected {
            return Err(JournalError::out_of_sequence(run, expected, last));
        }
        let numbered = (last + 1..).zip(events).map(|(seq, event)| {
            let (event, digest) = (event.clone(), None);
            StoredEvent { seq, at, epoch, event, digest }
        });
        stored.events.extend(numbered);
        stored.inbox.retain(|item| !acknowledged.contains(&item.id));
        stored.row.status = status;
        stored.row.ended_at = status.has_ended().then_some(at);
        Ok(stored.events.len() as u64)
    }
}

impl StoredRun {
    fn row(&self) -> RunRow {
        let mut row = self.row.clone();
        if row.status == RunStatus::Running && !self.leased {
            row.status = RunStatus::Interrupted;
        }
        row
    }
}

impl RunIndex for MemoryJournal {
    fn create(&self, new: NewRun) -> Result<u64, JournalError> {
        let mut contents = self.lock();
        if contents.find(&new.run).is_ok() {
            return Err(JournalError::exists(&new.run));
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
        let frozen = new.frozen.into_inner();
        contents.runs.push(StoredRun { row, frozen, leased: true, events, inbox, keys });
        Ok(1)
    }

    fn run(&self, run: &RunId) -> Result<RunRow, JournalError> {
        Ok(self.lock().find(run)?.row())
    }

    fn frozen(&self, run: &RunId) -> Result<Json, JournalError> {
        self.lock().find(run).map(|stored| stored.frozen.clone())
    }

    fn list(&self) -> Result<Vec<RunRow>, JournalError> {
        Ok(self.lock().runs.iter().rev().map(StoredRun::row).collect())
    }

    fn remove(&self, run: &RunId) -> Result<(), JournalError> {
        let mut contents = self.lock();
        let stored = contents.find(run)?;
        if stored.leased {
            return Err(JournalError::Leased { run: run.to_string(), pid: std::process::id() });
        }
        if !stored.row.status.has_ended() {
            return Err(JournalError::not_ended(run));
        }
        contents.runs.retain(|stored| stored.row.run != *run);
        Ok(())
    }

    fn resolve(&self, text: &str) -> Result<RunId, JournalError> {
        if let Some(last) = last_run(self, text) {
            return last;
        }
        let newest_first: Vec<RunId> =
            self.lock().runs.iter().rev().map(|stored| stored.row.run.clone()).collect();
        select_run(text, &newest_first)
    }
}

impl EventLog for MemoryJournal {
    fn append<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        batch: Batch<'a>,
    ) -> BoxFuture<'a, Result<u64, JournalError>> {
        async move { self.lock().append(run, epoch, batch) }.boxed()
    }

    fn read_events(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, JournalError> {
        let mut contents = self.lock();
        let events = &contents.find(run)?.events;
        Ok(events.iter().skip(after as usize).take(limit).cloned().collect())
    }

    fn chain_head<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<Digest>, JournalError>> {
        ready(self.lock().find(run).map(|_| None)).boxed()
    }

    fn ledger(&self, run: &RunId) -> Result<Ledger, JournalError> {
        let mut contents = self.lock();
        let StoredRun { row, frozen, events, .. } = contents.find(run)?;
        let rows = events.iter().map(|stored| {
            let body = serde_json::to_vec(&stored.event).unwrap_or_default();
            let kind = String::from_utf8_lossy(super::ledger::event_type(&body)).into_owned();
            let StoredEvent { seq, at, epoch, .. } = *stored;
            LedgerRow { seq, at, epoch, kind, body, digest: None, blob: None }
        });
        Ok(Ledger {
            run: run.clone(),
            definition: row.definition.clone(),
            started_at: row.started_at,
            kb_version: row.kb_version.clone(),
            frozen: frozen.to_string(),
            status: row.status.to_string(),
            ended_at: row.ended_at,
            epoch: row.epoch,
            last_seq: events.len() as u64,
            keeps_chain: false,
            head: None,
            rows: rows.collect(),
        })
    }
}

impl Blobs for MemoryJournal {
    fn put_blob(&self, text: &Masked<String>) -> Result<Digest, JournalError> {
        let digest = Digest::of(text.as_bytes());
        self.lock().blobs.entry(digest).or_insert_with(|| text.as_bytes().to_vec());
        Ok(digest)
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, JournalError> {
        let found = self.lock().blobs.get(digest).cloned();
        found.ok_or_else(|| JournalError::Damaged(format!("blob `{digest}` is missing")))
    }

    fn remove_unused_blobs(&self) -> Result<u64, JournalError> {
        let mut contents = self.lock();
        // An owner may have stored a blob and not appended the event that refers to it.
        if contents.runs.iter().any(|stored| stored.leased) {
            return Ok(0);
        }
        let used = MemoryJournal::references(&contents);
        let size =
            |contents: &Contents| contents.blobs.values().map(|b| b.len() as u64).sum::<u64>();
        let before = size(&contents);
        contents.blobs.retain(|digest, _| used.contains(digest));
        Ok(before - size(&contents))
    }
}

impl MemoryJournal {
    /// The digests in all events.
    fn references(contents: &Contents) -> BTreeSet<Digest> {
        let mut found = BTreeSet::new();
        for stored in contents.runs.iter().flat_map(|stored| &stored.events) {
            let text = serde_json::to_string(&stored.event).unwrap_or_default();
            add_digests(&text, &mut found);
        }
        found
    }
}

impl Inbox for MemoryJournal {
    fn post(&self, run: &RunId, key: &str, kind: &str, body: Json) -> Result<bool, JournalError> {
        let mut contents = self.lock();
        let id = contents.last_message + 1;
        let stored = contents.find(run)?;
        let is_new = stored.keys.insert(key.to_owned());
        if is_new {
            stored.inbox.push(InboxItem { id, kind: kind.to_owned(), body });
            contents.last_message = id;
        }
        Ok(is_new)
    }

    fn pending<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Vec<InboxItem>, JournalError>> {
        ready(self.lock().find(run).map(|stored| stored.inbox.clone())).boxed()
    }

    fn acknowledge<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        let mut contents = self.lock();
        let stored = contents.find_leased(run, epoch);
        let removed = stored.map(|stored| stored.inbox.retain(|item| !ids.contains(&item.id)));
        ready(removed).boxed()
    }
}

impl Leases for MemoryJournal {
    fn acquire(&self, run: &RunId) -> Result<u64, JournalError> {
        let mut contents = self.lock();
        let stored = contents.find(run)?;
        if stored.leased {
            return Err(JournalError::Leased { run: run.to_string(), pid: std::process::id() });
        }
        stored.leased = true;
        stored.row.epoch += 1;
        Ok(stored.row.epoch)
    }

    fn release<'a>(&'a self, run: &'a RunId, epoch: u64) -> BoxFuture<'a, ()> {
        if let Ok(stored) = self.lock().find_leased(run, epoch) {
            stored.leased = false;
        }
        ready(()).boxed()
    }

    fn is_leased(&self, run: &RunId) -> Result<bool, JournalError> {
        Ok(self.lock().find(run)?.leased)
    }
}

impl Journal for MemoryJournal {}
