use super::group_commit::GroupCommit;
use super::schema::{self, JournalPaths};
use super::{large, read, write};
use crate::definition::SyncMode;
use crate::journal::blob_store::BlobStore;
use crate::journal::lease::Leases;
use crate::journal::selection::select_run;
use crate::journal::{
    Batch, Chain, Durability, InboxItem, Journal, JournalError, Ledger, LedgerRow, NewRun, RunRow,
    StoredEvent,
};
use crate::run::RunStatus;
use crate::value::{Digest, Json, RunId, Timestamp};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The journal in a folder of its own.
pub struct SqliteJournal {
    places: JournalPaths,
    leases: Leases,
    blobs: BlobStore,
    readers: Mutex<Vec<Connection>>,
    writer: GroupCommit,
    /// The hash chains of the runs that are held here.
    chains: Mutex<BTreeMap<RunId, Chain>>,
}

impl SqliteJournal {
    /// Opens the journal of a folder; makes both where they are missing. With [`SyncMode::Full`]
    /// every write is durable.
    pub fn open(dir: &Path, sync: SyncMode) -> Result<Self, JournalError> {
        let places = JournalPaths::of(dir);
        schema::prepare(&places).map_err(|error| error.with_folder(&places))?;
        Ok(SqliteJournal {
            leases: Leases::new(places.locks.clone()),
            blobs: BlobStore::new(places.blobs.clone()),
            readers: Mutex::default(),
            writer: GroupCommit::new(places.clone(), sync == SyncMode::Full),
            chains: Mutex::default(),
            places,
        })
    }

    /// The folder.
    pub fn directory(&self) -> &Path {
        &self.places.directory
    }

    /// Whether its disk takes something now.
    pub fn check_space(&self) -> Result<(), JournalError> {
        let file = &self.places.database;
        super::probe_space(&self.places)
            .map_err(|error| JournalError::of_file("write", file, &error))
    }

    /// Everything that is stored of a run, exactly as it is stored, for whoever checks it.
    pub fn ledger(&self, run: &RunId) -> Result<Ledger, JournalError> {
        self.read(|connection| read::ledger(connection, run))
    }

    /// The blob that an event's text is in, where it is too large for its row.
    pub fn blob_of(row: &LedgerRow) -> Option<Digest> {
        std::str::from_utf8(&row.body).ok().and_then(large::blob_of)
    }

    fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let readers = || self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => schema::open_reader(&self.places).map_err(|e| e.with_folder(&self.places))?,
        };
        let found = query(&connection).map_err(|error| error.with_folder(&self.places))?;
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
}

/// The digests of these events, which the chain takes in.
fn chained(chain: &mut Chain, at: Timestamp, epoch: u64, bodies: &[String]) -> Vec<Digest> {
    bodies.iter().map(|body| chain.add(at, epoch, body.as_bytes())).collect()
}

impl Journal for SqliteJournal {
    fn create(&self, mut new: NewRun) -> Result<u64, JournalError> {
        // Large as it may be, it is needed as text alone.
        let frozen = std::mem::take(&mut new.frozen).to_string();
        let run = new.run.clone();
        let chain = Chain::of(&new, &frozen);
        let epoch = self.leases.acquire(&run, || {
            self.writer.write(Durability::Ordered, move |c| write::create(c, &new, &frozen, chain))
        })?;
        self.chains().insert(run, chain);
        Ok(epoch)
    }

    fn take(&self, run: &RunId) -> Result<u64, JournalError> {
        self.read(|connection| read::run_number(connection, run))?;
        self.leases.acquire(run, || {
            let taken = run.clone();
            let epoch = self.writer.write(Durability::Ordered, move |c| write::take(c, &taken))?;
            match self.read(|connection| read::chain(connection, run))? {
                Some(chain) => self.chains().insert(run.clone(), chain),
                None => self.chains().remove(run),
            };
            // Whoever held it before may have been killed in the middle of a blob.
            self.blobs.sweep();
            Ok(epoch)
        })
    }

    fn previous_owner(&self, run: &RunId) -> Option<u32> {
        self.leases.previous_owner(run)
    }

    fn release(&self, run: &RunId, epoch: u64) {
        if self.leases.has(run, epoch) {
            self.chains().remove(run);
        }
        self.leases.release(run, epoch);
    }

    fn append(&self, run: &RunId, epoch: u64, batch: Batch<'_>) -> Result<u64, JournalError> {
        let Batch { expected, at, events, status, taken, durability } = batch;
        if !self.leases.has(run, epoch) {
            self.read(|connection| read::run_number(connection, run))?;
            return Err(JournalError::LeaseLost(run.to_string()));
        }
        let bodies = write::bodies(events, &self.blobs)?;
        let mut chain = self.chains().get(run).copied().filter(|chain| chain.seq() == expected);
        let digests = chain.iter_mut().flat_map(|chain| chained(chain, at, epoch, &bodies));
        let digests = digests.collect();
        let run = run.clone();
        let (of, taken) = (run.clone(), taken.to_vec());
        let append = write::Append { run: of, epoch, expected, at, bodies, digests, status, taken };
        let last = self.writer.write(durability, move |c| write::append(c, &append))?;
        self.chains().extend(chain.map(|chain| (run, chain)));
        Ok(last)
    }

    fn read_events(
        &self,
        run: &RunId,
        after: u64,
        most: usize,
    ) -> Result<Vec<StoredEvent>, JournalError> {
        self.read(|connection| read::events(connection, run, after, most, &self.blobs))
    }

    fn head(&self, run: &RunId) -> Result<Option<Digest>, JournalError> {
        if let Some(chain) = self.chains().get(run) {
            return Ok(Some(chain.head()));
        }
        Ok(self.read(|connection| read::chain(connection, run))?.map(|chain| chain.head()))
    }

    fn run(&self, run: &RunId) -> Result<RunRow, JournalError> {
        self.with_current_status(self.read(|connection| read::run(connection, run))?)
    }

    fn frozen(&self, run: &RunId) -> Result<Json, JournalError> {
        self.read(|connection| read::frozen(connection, run))
    }

    fn list(&self) -> Result<Vec<RunRow>, JournalError> {
        self.read(read::list)?.into_iter().map(|row| self.with_current_status(row)).collect()
    }

    fn find(&self, text: &str) -> Result<RunId, JournalError> {
        select_run(text, &self.read(read::run_ids)?)
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<Digest, JournalError> {
        self.blobs.put(bytes)
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, JournalError> {
        self.blobs.get(digest)
    }

    fn post(&self, run: &RunId, key: &str, kind: &str, body: Json) -> Result<(), JournalError> {
        let (run, body) = (run.clone(), body.to_string());
        let (key, kind) = (key.to_owned(), kind.to_owned());
        // Who posts an answer is told that it was taken, so it must be there after a power cut.
        self.writer
            .write(Durability::Durable, move |c| write::post(c, &run, &key, &kind, &body))
            .map(|_| ())
    }

    fn inbox(&self, run: &RunId) -> Result<Vec<InboxItem>, JournalError> {
        self.read(|connection| read::inbox(connection, run))
    }

    fn taken(&self, run: &RunId, epoch: u64, ids: &[i64]) -> Result<(), JournalError> {
        let (run, ids) = (run.clone(), ids.to_vec());
        let mark = move |c: &Connection| write::taken(c, &run, epoch, &ids);
        self.writer.write(Durability::Ordered, mark).map(|_| ())
    }

    fn is_leased(&self, run: &RunId) -> Result<bool, JournalError> {
        self.read(|connection| read::run_number(connection, run))?;
        self.leases.is_leased(run)
    }
}
