//! The SQLite back end: one type that implements every part of the contract.

use super::group_commit::GroupCommit;
use super::read::LedgerPart;
use super::schema::{self, JournalPaths};
use super::{backup, read, write};
use crate::journal::blob_store::BlobStore;
use crate::journal::lease::LeaseFiles;
use crate::journal::selection::{last_run, select_run};
use crate::journal::{
    Backup, Batch, Blobs, Chain, Durability, EventLog, Inbox, InboxItem, Journal, JournalError,
    Leases, Ledger, NamedLocks, NewRun, RunIndex, RunQuery, RunRow, StoredEvent,
};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use kb_base::value::{Digest, Json, RunId, Timestamp};
use kb_core::redaction::Masked;
use kb_core::run::RunStatus;
use kb_language::definition::SyncMode;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A journal in its own folder. Its futures do their work when they are first polled and are ready
/// at once: an ordered append takes microseconds, a durable one as long as a sync.
pub struct SqliteJournal {
    paths: JournalPaths,
    leases: LeaseFiles,
    blobs: BlobStore,
    /// Idle read connections.
    readers: Mutex<Vec<Connection>>,
    /// The connection that [`Journal::version`] asks; another one would give another number.
    watcher: Mutex<Option<Connection>>,
    writer: GroupCommit,
    /// Hash chains of the runs that this process has leased.
    chains: Mutex<BTreeMap<RunId, Chain>>,
}

impl SqliteJournal {
    /// Opens the journal in a folder, or creates both; with [`SyncMode::Full`] every write is durable.
    pub fn open(directory: &Path, sync: SyncMode) -> Result<Self, JournalError> {
        let paths = JournalPaths::of(directory);
        schema::prepare(&paths).map_err(|error| error.with_folder(&paths))?;
        Ok(SqliteJournal {
            leases: LeaseFiles::new(paths.locks.clone()),
            blobs: BlobStore::new(paths.blobs.clone()),
            readers: Mutex::default(),
            watcher: Mutex::default(),
            writer: GroupCommit::new(paths.clone(), sync == SyncMode::Full),
            chains: Mutex::default(),
            paths,
        })
    }

    fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let readers = || self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => schema::open_reader(&self.paths).map_err(|e| e.with_folder(&self.paths))?,
        };
        let found = query(&connection).map_err(|error| error.with_folder(&self.paths))?;
        readers().push(connection);
        Ok(found)
    }

    fn chains(&self) -> MutexGuard<'_, BTreeMap<RunId, Chain>> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_current_status(&self, mut row: RunRow) -> Result<RunRow, JournalError> {
        if row.status == RunStatus::Running && !self.leases.is_leased(&row.run)? {
            row.status = RunStatus::Interrupted;
        }
        Ok(row)
    }

    fn append_batch(&self, run: &RunId, epoch: u64, batch: Batch<'_>) -> Result<u64, JournalError> {
        let Batch { expected, at, events, status, acknowledged, durability } = batch;
        if !self.leases.owns(run, epoch) {
            self.read(|connection| read::run_number(connection, run))?;
            return Err(JournalError::LeaseLost(run.to_string()));
        }
        let bodies = write::bodies(events, &self.blobs)?;
        let mut chain = self.chains().get(run).copied().filter(|chain| chain.seq() == expected);
        let digests = chain.iter_mut().flat_map(|chain| chained(chain, at, epoch, &bodies));
        let digests = digests.collect();
        let acknowledged = acknowledged.to_vec();
        let append = write::Append {
            run: run.clone(),
            epoch,
            expected,
            at,
            bodies,
            digests,
            status,
            acknowledged,
        };
        let last = self.writer.write(durability, move |c| write::append(c, &append))?;
        self.chains().extend(chain.map(|chain| (run.clone(), chain)));
        Ok(last)
    }

    fn head(&self, run: &RunId) -> Result<Option<Digest>, JournalError> {
        if let Some(chain) = self.chains().get(run) {
            return Ok(Some(chain.head()));
        }
        Ok(self.read(|connection| read::chain(connection, run))?.map(|chain| chain.head()))
    }
}

/// Adds these events to the chain and returns their digests.
fn chained(chain: &mut Chain, at: Timestamp, epoch: u64, bodies: &[String]) -> Vec<Digest> {
    bodies.iter().map(|body| chain.add(at, epoch, body.as_bytes())).collect()
}

/// The text of a value, in a buffer of exactly its size.
fn text_of(value: impl fmt::Display) -> String {
    struct Length(usize);
    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut length = Length(0);
    let mut text = match write!(length, "{value}") {
        Ok(()) => String::with_capacity(length.0),
        Err(fmt::Error) => String::new(),
    };
    // Writing to a `String` cannot fail.
    let _ = write!(text, "{value}");
    text
}

impl RunIndex for SqliteJournal {
    fn create(&self, mut new: NewRun) -> Result<u64, JournalError> {
        // The frozen state may be large and is needed as text only.
        let frozen = text_of(std::mem::take(&mut new.frozen));
        let run = new.run.clone();
        let chain = Chain::of(&new, &frozen);
        let epoch = self.leases.acquire(&run, || {
            self.writer.write(Durability::Ordered, move |c| write::create(c, &new, &frozen, chain))
        })?;
        self.chains().insert(run, chain);
        Ok(epoch)
    }

    fn run(&self, run: &RunId) -> Result<RunRow, JournalError> {
        self.with_current_status(self.read(|connection| read::run(connection, run))?)
    }

    fn frozen(&self, run: &RunId) -> Result<Json, JournalError> {
        self.read(|connection| read::frozen(connection, run))
    }

    fn select(&self, query: &RunQuery) -> Result<Vec<RunRow>, JournalError> {
        let mut found = Vec::new();
        self.read(|connection| {
            read::select(connection, query, |row| {
                let row = self.with_current_status(row)?;
                if query.includes(&row) && found.len() < query.limit {
                    found.push(row);
                }
                Ok(found.len() < query.limit)
            })
        })?;
        Ok(found)
    }

    fn list(&self) -> Result<Vec<RunRow>, JournalError> {
        self.read(read::list)?.into_iter().map(|row| self.with_current_status(row)).collect()
    }

    fn damaged(&self) -> Result<Vec<String>, JournalError> {
        self.read(read::damaged_runs)
    }

    fn latest(
        &self,
        definition: Option<&str>,
        status: Option<RunStatus>,
    ) -> Result<Option<RunRow>, JournalError> {
        let found = self.read(|connection| read::latest(connection, definition, status))?;
        found.map(|row| self.with_current_status(row)).transpose()
    }

    fn parents(&self) -> Result<BTreeMap<RunId, RunId>, JournalError> {
        self.read(read::parents)
    }

    fn ended_since(&self, since: Timestamp) -> Result<Vec<RunRow>, JournalError> {
        self.read(|connection| read::ended_since(connection, since))
    }

    fn waiting(&self) -> Result<Vec<RunRow>, JournalError> {
        self.read(read::waiting)
    }

    fn remove(&self, run: &RunId) -> Result<(), JournalError> {
        self.read(|connection| read::run_number(connection, run))?;
        // With the lease, no process drives the run, and none starts to.
        self.leases.acquire(run, || {
            let removed = run.clone();
            self.writer.write(Durability::Ordered, move |c| write::remove(c, &removed))
        })?;
        self.leases.release(run, 0);
        Ok(())
    }

    fn resolve(&self, text: &str) -> Result<RunId, JournalError> {
        match last_run(self, text) {
            Some(last) => last,
            None => select_run(text, &self.read(read::run_ids)?),
        }
    }
}

impl EventLog for SqliteJournal {
    fn last_seq(&self, run: &RunId) -> Result<u64, JournalError> {
        self.read(|connection| read::last_seq(connection, run))
    }

    fn append<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        batch: Batch<'a>,
    ) -> BoxFuture<'a, Result<u64, JournalError>> {
        async move { self.append_batch(run, epoch, batch) }.boxed()
    }

    fn read_events(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, JournalError> {
        self.read(|connection| read::events(connection, run, after, limit, &self.blobs))
    }

    fn chain_head<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<Digest>, JournalError>> {
        async move { self.head(run) }.boxed()
    }

    fn ledger(&self, run: &RunId) -> Result<Ledger, JournalError> {
        self.read(|connection| read::ledger(connection, run, LedgerPart::All))
    }

    fn ledger_ends(&self, run: &RunId) -> Result<Ledger, JournalError> {
        self.read(|connection| read::ledger(connection, run, LedgerPart::Ends))
    }
}

impl Blobs for SqliteJournal {
    fn put_blob(&self, text: &Masked<String>) -> Result<Digest, JournalError> {
        self.blobs.put(text.as_bytes())
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, JournalError> {
        self.blobs.get(digest)
    }

    fn renew_blob(&self, digest: &Digest) -> Result<(), JournalError> {
        self.blobs.put(&self.blobs.get(digest)?).map(drop)
    }

    fn remove_unused_blobs(&self) -> Result<u64, JournalError> {
        self.blobs.remove_unused(|| {
            // In this order: an owner that ends in between has appended its events.
            let has_owner = self.leases.any_is_leased()?;
            let used = self.read(|connection| read::digests(connection, &self.blobs))?;
            Ok((used, has_owner))
        })
    }
}

impl Inbox for SqliteJournal {
    fn post(&self, run: &RunId, key: &str, kind: &str, body: Json) -> Result<bool, JournalError> {
        let (run, body) = (run.clone(), body.to_string());
        let (key, kind) = (key.to_owned(), kind.to_owned());
        // The sender reports success to a person, so the message must survive a power cut.
        self.writer
            .write(Durability::Durable, move |c| write::post(c, &run, &key, &kind, &body))
            .map(|new| new == 1)
    }

    fn pending<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Vec<InboxItem>, JournalError>> {
        async move { self.read(|connection| read::inbox(connection, run)) }.boxed()
    }

    fn acknowledge<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        async move {
            let (run, ids) = (run.clone(), ids.to_vec());
            let mark = move |c: &Connection| write::acknowledge(c, &run, epoch, &ids);
            self.writer.write(Durability::Ordered, mark).map(|_| ())
        }
        .boxed()
    }
}

impl Leases for SqliteJournal {
    fn acquire(&self, run: &RunId) -> Result<u64, JournalError> {
        self.read(|connection| read::run_number(connection, run))?;
        self.leases.acquire(run, || {
            let taken = run.clone();
            let claim = move |c: &Connection| write::next_epoch(c, &taken);
            let epoch = self.writer.write(Durability::Ordered, claim)?;
            match self.read(|connection| read::chain(connection, run))? {
                Some(chain) => self.chains().insert(run.clone(), chain),
                None => self.chains().remove(run),
            };
            // The previous owner may have been killed while it wrote a blob.
            self.blobs.sweep();
            Ok(epoch)
        })
    }

    fn previous_owner(&self, run: &RunId) -> Option<u32> {
        self.leases.previous_owner(run)
    }

    fn renew(&self, run: &RunId) {
        self.leases.renew(run);
    }

    fn last_renewal(&self, run: &RunId) -> Option<Timestamp> {
        self.leases.last_renewal(run)
    }

    fn release<'a>(&'a self, run: &'a RunId, epoch: u64) -> BoxFuture<'a, ()> {
        if self.leases.owns(run, epoch) {
            self.chains().remove(run);
        }
        self.leases.release(run, epoch);
        ready(()).boxed()
    }

    fn abandon<'a>(&'a self, run: &'a RunId, epoch: u64) -> BoxFuture<'a, ()> {
        if self.leases.owns(run, epoch) {
            self.chains().remove(run);
        }
        self.leases.abandon(run, epoch);
        ready(()).boxed()
    }

    fn is_leased(&self, run: &RunId) -> Result<bool, JournalError> {
        self.read(|connection| read::run_number(connection, run))?;
        self.leases.is_leased(run)
    }
}

impl Journal for SqliteJournal {
    fn prepare_to_write(&self) {
        self.writer.open();
    }

    fn version(&self) -> Result<i64, JournalError> {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match watcher.take() {
            Some(connection) => connection,
            None => schema::open_reader(&self.paths).map_err(|e| e.with_folder(&self.paths))?,
        };
        let version = connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        *watcher = Some(connection);
        Ok(version)
    }

    fn named_locks(&self) -> Option<NamedLocks> {
        Some(NamedLocks::new(self.paths.locks.with_file_name("queues")))
    }

    fn back_up(&self, file: &Path, others: &[(&str, Vec<u8>)]) -> Result<Backup, JournalError> {
        // Blobs that the copy refers to must not be removed before they are copied.
        let _kept = self.blobs.keep_all()?;
        self.read(|connection| backup::back_up(connection, &self.blobs, file, others))
    }

    fn check_space(&self) -> Result<(), JournalError> {
        let file = &self.paths.database;
        super::probe_space(&self.paths)
            .map_err(|error| JournalError::of_file("write", file, &error))
    }
}
