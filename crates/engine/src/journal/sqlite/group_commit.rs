//! Group commit: concurrent writes of a process share one transaction and one sync.

use super::schema::JournalPaths;
use super::write_job::{Answer, WriteError, WriteJob};
use super::writer::Writer;
use crate::journal::{Durability, JournalError};
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError};

/// The write connection. The thread that locks it commits all queued writes in one transaction, and
/// the threads that waited find their results. Writes that arrive during a sync share the next one,
/// and a single writer needs no thread switch.
pub(super) struct GroupCommit {
    queue: Mutex<Vec<Queued>>,
    paths: JournalPaths,
    /// Opened by the first write or shortly before it, so that reading needs no disk space.
    writer: Mutex<Option<Writer>>,
    full: bool,
}

struct Queued {
    work: WriteJob,
    durable: bool,
    ticket: Ticket,
}

#[derive(Clone, Default)]
struct Ticket(Arc<Mutex<Option<Answer>>>);

impl Ticket {
    fn put(&self, answer: Answer) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    fn take(&self) -> Option<Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl GroupCommit {
    /// With `full`, every write is durable.
    pub(super) fn new(paths: JournalPaths, full: bool) -> GroupCommit {
        GroupCommit { queue: Mutex::default(), paths, writer: Mutex::default(), full }
    }

    /// Opens the write connection if it is not open. The next write reports a failure.
    pub(super) fn open(&self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.is_none() {
            *writer = Writer::open(&self.paths).ok();
        }
    }

    /// Runs a write in a transaction. Returns when it is committed and, if durable, synced.
    pub(super) fn write(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> Result<u64, WriteError> + Send + 'static,
    ) -> Result<u64, JournalError> {
        let ticket = Ticket::default();
        let durable = self.full || durability == Durability::Durable;
        let queued = Queued { work: Box::new(work), durable, ticket: ticket.clone() };
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push(queued);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = ticket.take() {
            return answer;
        }
        let batch = std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.commit(&mut writer, batch);
        let lost = || Err(JournalError::Broken("the journal lost a write".into()));
        ticket.take().unwrap_or_else(lost)
    }

    fn commit(&self, writer: &mut Option<Writer>, batch: Vec<Queued>) {
        let durable = batch.iter().any(|queued| queued.durable);
        let (jobs, tickets): (Vec<WriteJob>, Vec<Ticket>) =
            batch.into_iter().map(|queued| (queued.work, queued.ticket)).unzip();
        let opened = match writer {
            Some(writer) => Ok(writer),
            None => Writer::open(&self.paths).map(|opened| writer.insert(opened)),
        };
        match opened.and_then(|writer| writer.commit(durable, jobs)) {
            Ok(answers) => {
                tickets.iter().zip(answers).for_each(|(ticket, answer)| ticket.put(answer));
            }
            Err(error) => {
                let error = error.with_folder(&self.paths);
                tickets.iter().for_each(|ticket| ticket.put(Err(error.clone())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::sqlite::schema;

    #[test]
    fn a_full_disk_rolls_back_the_whole_transaction() {
        let directory = tempfile::tempdir().unwrap();
        let paths = JournalPaths::of(directory.path());
        schema::prepare(&paths).unwrap();
        let group = GroupCommit::new(paths, false);
        let write = |sql: &'static str| {
            group.write(Durability::Ordered, move |c| Ok(c.execute_batch(sql).map(|()| 0)?))
        };
        write("CREATE TABLE t (x); PRAGMA max_page_count = 20;").unwrap();
        let insert = |bytes: usize| {
            group.write(Durability::Ordered, move |c| {
                c.execute("INSERT INTO t VALUES ('small')", [])?;
                Ok(c.execute("INSERT INTO t VALUES (zeroblob(?1))", [bytes as i64])? as u64)
            })
        };
        assert_eq!(insert(100), Ok(1));
        let full = Err(JournalError::Full(Some(directory.path().to_owned())));
        assert_eq!(insert(10 << 20), full);
        assert_eq!(insert(100), Ok(1));
        let rows = group.write(Durability::Ordered, |c| {
            Ok(c.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))? as u64)
        });
        assert_eq!(rows, Ok(4));
    }
}
