//! The write connection with its checkpoints and syncs.

use super::schema::{self, JournalPaths};
use super::syncer::Syncer;
use super::write_job::{Answer, WriteError, WriteJob};
use crate::journal::JournalError;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode, MAIN_DB};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Number of WAL pages that triggers a checkpoint.
const CHECKPOINT_PAGES: i32 = 1000;

/// The write connection and the state of its disk.
pub(super) struct Writer {
    connection: Connection,
    syncer: Syncer,
    /// Number of WAL pages after the last commit.
    pages: Arc<AtomicI32>,
    /// The database and its WAL on disk.
    files: JournalFiles,
    /// Whether SQLite syncs each commit before it becomes visible.
    durable: bool,
}

impl Writer {
    /// Opens the connection and syncs what earlier processes may have left unsynced: the directory
    /// entries and the WAL. A later sync would not report their failed writes. SQLite syncs the folder
    /// when it creates a WAL, but does not report a failure.
    pub(super) fn open(paths: &JournalPaths) -> Result<Writer, JournalError> {
        let left = fs::metadata(&paths.wal).is_ok_and(|wal| wal.len() > 0);
        let mut connection = schema::open_writer(paths)?;
        let directory = &paths.directory;
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(|error| JournalError::of_file("sync", directory, &error))?;
        if left {
            // Restart the WAL once it has no readers: frames after a lost frame would be lost too.
            checkpoint(&connection, CheckpointMode::RESTART)?;
        }
        let pages = Arc::new(AtomicI32::new(0));
        let seen = pages.clone();
        // Replaces SQLite's automatic checkpoints, which do not report a failed sync.
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        let syncer = Syncer::start(&paths.wal)?;
        let files = JournalFiles::new(paths);
        Ok(Writer { connection, syncer, pages, files, durable: false })
    }

    /// Runs the writes in one transaction. On return they are committed and, if durable, synced.
    pub(super) fn commit(
        &mut self,
        durable: bool,
        jobs: Vec<WriteJob>,
    ) -> Result<Vec<Answer>, JournalError> {
        self.syncer.check()?;
        self.set_durable(durable)?;
        let answers = self.transact(jobs)?;
        self.files.require_unchanged().inspect_err(|error| self.syncer.fail(error))?;
        if durable {
            self.syncer.settle()?
        } else {
            self.syncer.sync_soon()
        }
        if self.pages.load(Ordering::Relaxed) >= CHECKPOINT_PAGES {
            // The commit stays valid if the checkpoint fails; only the next write may be refused.
            let _ = checkpoint(&self.connection, CheckpointMode::PASSIVE)
                .map_err(|error| self.broken(error));
        }
        Ok(answers)
    }

    fn set_durable(&mut self, durable: bool) -> Result<(), JournalError> {
        if durable != self.durable {
            let level = if durable { "FULL" } else { "NORMAL" };
            self.connection.execute_batch(&format!("PRAGMA synchronous = {level}"))?;
            self.durable = durable;
        }
        Ok(())
    }

    fn transact(&self, jobs: Vec<WriteJob>) -> Result<Vec<Answer>, JournalError> {
        let connection = &self.connection;
        let started = connection.prepare_cached("BEGIN IMMEDIATE").and_then(|mut b| b.execute([]));
        started.map_err(|error| self.broken(error))?;
        let mut answers = Vec::with_capacity(jobs.len());
        for work in jobs {
            match work(connection) {
                Ok(answer) => answers.push(Ok(answer)),
                Err(WriteError::Refused(refusal)) => answers.push(Err(refusal)),
                Err(WriteError::Failed(error)) => return Err(self.undo(error)),
            }
        }
        match connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])) {
            Ok(_) => Ok(answers),
            Err(error) => Err(self.undo(error)),
        }
    }

    fn undo(&self, error: rusqlite::Error) -> JournalError {
        // A full disk may have ended the transaction already; then this has no effect.
        let _ = self.connection.execute_batch("ROLLBACK");
        self.broken(error)
    }

    /// Remembers a failed disk for good. A full disk may have space again later.
    fn broken(&self, error: rusqlite::Error) -> JournalError {
        let error = JournalError::from(error);
        if matches!(error, JournalError::Disk { .. }) {
            self.syncer.fail(&error);
        }
        error
    }
}

/// The files that the write connection has open. SQLite keeps writing to files that were removed or
/// replaced, and those writes are lost when the connection closes.
struct JournalFiles {
    paths: [PathBuf; 2],
    /// Device and inode of each file; `None` until it exists.
    opened: [Option<(u64, u64)>; 2],
}

impl JournalFiles {
    fn new(paths: &JournalPaths) -> JournalFiles {
        let paths = [paths.database.clone(), paths.wal.clone()];
        JournalFiles { opened: [identity(&paths[0]), identity(&paths[1])], paths }
    }

    /// Fails if a file was removed or replaced since it was opened.
    fn require_unchanged(&mut self) -> Result<(), JournalError> {
        for (path, opened) in self.paths.iter().zip(&mut self.opened) {
            let present = identity(path);
            if opened.is_some() && *opened != present {
                return Err(JournalError::Lost(path.clone()));
            }
            *opened = present;
        }
        Ok(())
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let file = fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

/// Copies the WAL into the database. The mode decides whether this waits for readers.
fn checkpoint(connection: &Connection, mode: CheckpointMode) -> rusqlite::Result<()> {
    match connection.wal_checkpoint_v2(Some(MAIN_DB), mode) {
        // Another process checkpoints.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
        done => done.map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_write_leaves_the_rest_of_its_transaction() {
        let directory = tempfile::tempdir().unwrap();
        let paths = JournalPaths::of(directory.path());
        schema::prepare(&paths).unwrap();
        let mut writer = Writer::open(&paths).unwrap();
        writer.connection.execute_batch("CREATE TABLE t (x)").unwrap();
        let jobs: Vec<WriteJob> = vec![
            Box::new(|c| Ok(c.execute("INSERT INTO t VALUES (1)", [])? as u64)),
            Box::new(|_| Err(WriteError::Refused(JournalError::NoRun("x".into())))),
            Box::new(|c| {
                Ok(c.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0))? as u64)
            }),
        ];
        let answers = writer.commit(false, jobs).unwrap();
        assert_eq!(answers, [Ok(1), Err(JournalError::NoRun("x".into())), Ok(1)]);
        assert!(writer.connection.is_autocommit());
    }

    /// The system reports a failed write once; the next sync succeeds.
    #[test]
    fn after_a_failed_background_sync_nothing_is_committed() {
        let directory = tempfile::tempdir().unwrap();
        let paths = JournalPaths::of(directory.path());
        schema::prepare(&paths).unwrap();
        let mut writer = Writer::open(&paths).unwrap();
        // A file that can be opened and not be synced.
        writer.syncer = Syncer::start("/dev/null".as_ref()).unwrap();
        writer.connection.execute_batch("CREATE TABLE t (x)").unwrap();
        let work = || -> Vec<WriteJob> {
            vec![Box::new(|c| Ok(c.execute("INSERT INTO t VALUES (1)", [])? as u64))]
        };
        assert_eq!(writer.commit(false, work()), Ok(vec![Ok(1)]), "no caller waits for the sync");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while writer.syncer.check().is_ok() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        let failed = writer.syncer.check().expect_err("the sync fails and is not forgotten");
        for durable in [false, true] {
            assert_eq!(writer.commit(durable, work()), Err(failed.clone()));
        }
        assert_eq!(writer.syncer.settle(), Err(failed), "what was durable meanwhile is not");
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        assert_eq!(writer.connection.query_row("SELECT count(*) FROM t", [], count), Ok(1));
    }

    #[test]
    fn a_failed_disk_stays_failed() {
        let directory = tempfile::tempdir().unwrap();
        let paths = JournalPaths::of(directory.path());
        schema::prepare(&paths).unwrap();
        let mut writer = Writer::open(&paths).unwrap();
        let failed = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_WRITE);
        let failed = rusqlite::Error::SqliteFailure(failed, None);
        let error = writer.commit(false, vec![Box::new(|_| Err(WriteError::Failed(failed)))]);
        assert!(matches!(error, Err(JournalError::Disk { .. })), "{error:?}");
        assert_eq!(writer.commit(false, vec![Box::new(|_| Ok(1))]), error);
    }

    #[test]
    fn a_long_wal_is_checkpointed() {
        let directory = tempfile::tempdir().unwrap();
        let paths = JournalPaths::of(directory.path());
        schema::prepare(&paths).unwrap();
        let mut writer = Writer::open(&paths).unwrap();
        writer.connection.execute_batch("CREATE TABLE t (x)").unwrap();
        let before = fs::metadata(&paths.database).unwrap().len();
        for _ in 0..4 {
            let work: WriteJob =
                Box::new(|c| Ok(c.execute("INSERT INTO t VALUES (zeroblob(2000000))", [])? as u64));
            writer.commit(false, vec![work]).unwrap();
        }
        assert!(fs::metadata(&paths.database).unwrap().len() > before + 4_000_000);
        assert!(fs::metadata(&paths.wal).unwrap().len() < 8_000_000, "the WAL starts again");
    }
}
