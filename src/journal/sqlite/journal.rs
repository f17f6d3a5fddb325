use super::group_commit::GroupCommit;
use super::schema::{self, Places};
use super::syncer::Syncer;
use super::{read, write};
use crate::definition::SyncMode;
use crate::journal::blob_store::BlobStore;
use crate::journal::holds::Holds;
use crate::journal::selection::select_run;
use crate::journal::{Durability, InboxItem, Journal, JournalError, NewRun, RunRow, StoredEvent};
use crate::run::{Event, RunStatus};
use crate::value::{Digest, Json, RunId, Timestamp};
use rusqlite::Connection;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The journal in a folder of its own.
pub struct SqliteJournal {
    places: Places,
    holds: Holds,
    blobs: BlobStore,
    readers: Mutex<Vec<Connection>>,
    writer: GroupCommit,
}

impl SqliteJournal {
    /// Opens the journal of a folder; makes both where they are missing. With [`SyncMode::Full`]
    /// every write is durable.
    pub fn open(dir: &Path, sync: SyncMode) -> Result<Self, JournalError> {
        let places = Places::of(dir);
        schema::prepare(&places)?;
        let connection = schema::open_writer(&places)?;
        let syncer = Syncer::start(&places.wal)?;
        Ok(SqliteJournal {
            holds: Holds::new(places.locks.clone()),
            blobs: BlobStore::new(places.blobs.clone()),
            readers: Mutex::default(),
            writer: GroupCommit::new(connection, syncer, sync == SyncMode::Full),
            places,
        })
    }

    /// The folder.
    pub fn directory(&self) -> &Path {
        &self.places.directory
    }

    fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let readers = || self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => schema::open_reader(&self.places)?,
        };
        let found = query(&connection)?;
        readers().push(connection);
        Ok(found)
    }

    fn as_seen(&self, mut row: RunRow) -> Result<RunRow, JournalError> {
        if row.status == RunStatus::Running && !self.holds.is_held(&row.run)? {
            row.status = RunStatus::Interrupted;
        }
        Ok(row)
    }
}

impl Journal for SqliteJournal {
    fn create(&self, new: NewRun) -> Result<u64, JournalError> {
        let run = new.run.clone();
        self.holds.acquire(&run, || {
            self.writer.write(Durability::Ordered, move |c| write::create(c, &new))
        })
    }

    fn take(&self, run: &RunId) -> Result<u64, JournalError> {
        self.read(|connection| read::number_of(connection, run))?;
        self.holds.acquire(run, || {
            let run = run.clone();
            self.writer.write(Durability::Ordered, move |c| write::take(c, &run))
        })
    }

    fn release(&self, run: &RunId, epoch: u64) {
        self.holds.release(run, epoch);
    }

    fn append(
        &self,
        run: &RunId,
        epoch: u64,
        expected: u64,
        at: Timestamp,
        events: &[Event],
        status: RunStatus,
        durability: Durability,
    ) -> Result<u64, JournalError> {
        if !self.holds.has(run, epoch) {
            self.read(|connection| read::number_of(connection, run))?;
            return Err(JournalError::Stale(run.to_string()));
        }
        let (run, bodies) = (run.clone(), write::bodies(events)?);
        let append = write::Append { run, epoch, expected, at, bodies, status };
        self.writer.write(durability, move |c| write::append(c, &append))
    }

    fn events(&self, run: &RunId, after: u64) -> Result<Vec<StoredEvent>, JournalError> {
        self.read(|connection| read::events(connection, run, after))
    }

    fn run(&self, run: &RunId) -> Result<RunRow, JournalError> {
        self.as_seen(self.read(|connection| read::run(connection, run))?)
    }

    fn list(&self) -> Result<Vec<RunRow>, JournalError> {
        self.read(read::list)?.into_iter().map(|row| self.as_seen(row)).collect()
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

    fn taken(&self, run: &RunId, ids: &[i64]) -> Result<(), JournalError> {
        let (run, ids) = (run.clone(), ids.to_vec());
        self.writer.write(Durability::Ordered, move |c| write::taken(c, &run, &ids)).map(|_| ())
    }

    fn is_held(&self, run: &RunId) -> Result<bool, JournalError> {
        self.read(|connection| read::number_of(connection, run))?;
        self.holds.is_held(run)
    }
}
