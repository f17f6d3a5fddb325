use super::syncer::Syncer;
use crate::journal::{Durability, JournalError};
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError};

/// A write inside a transaction. A refusal must come before anything is written.
pub(super) type Work = Box<dyn FnOnce(&Connection) -> Result<u64, WorkError> + Send>;

/// Why a write did not happen.
pub(super) enum WorkError {
    /// It may not; the other writes of its transaction go on.
    Refused(JournalError),
    /// The database cannot; the whole transaction is undone.
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for WorkError {
    fn from(error: rusqlite::Error) -> Self {
        WorkError::Failed(error)
    }
}

/// The one connection that writes. Whoever gets it commits everything that is queued by then, in
/// one transaction; those who waited meanwhile find their answer ready. So writes that arrive
/// during a sync share the next one, and a lone writer pays for no thread switch.
pub(super) struct GroupCommit {
    queue: Mutex<Vec<Queued>>,
    connection: Mutex<Connection>,
    syncer: Syncer,
    full: bool,
}

struct Queued {
    work: Work,
    durable: bool,
    ticket: Ticket,
}

type Answer = Result<u64, JournalError>;

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
    pub(super) fn new(connection: Connection, syncer: Syncer, full: bool) -> GroupCommit {
        GroupCommit { queue: Mutex::default(), connection: Mutex::new(connection), syncer, full }
    }

    /// Does the work in a transaction and returns once it is committed, and synced where durable.
    pub(super) fn write(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> Result<u64, WorkError> + Send + 'static,
    ) -> Result<u64, JournalError> {
        let ticket = Ticket::default();
        let durable = self.full || durability == Durability::Durable;
        let queued = Queued { work: Box::new(work), durable, ticket: ticket.clone() };
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push(queued);
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = ticket.take() {
            return answer;
        }
        let batch = std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.commit(&connection, batch);
        let lost = || Err(JournalError::Broken("the journal lost a write".into()));
        ticket.take().unwrap_or_else(lost)
    }

    fn commit(&self, connection: &Connection, batch: Vec<Queued>) {
        let durable = batch.iter().any(|queued| queued.durable);
        let (works, tickets): (Vec<Work>, Vec<Ticket>) =
            batch.into_iter().map(|queued| (queued.work, queued.ticket)).unzip();
        let done = self
            .syncer
            .check()
            .and_then(|()| transact(connection, works))
            .and_then(|answers| self.secure(durable).map(|()| answers));
        match done {
            Ok(answers) => {
                tickets.iter().zip(answers).for_each(|(ticket, answer)| ticket.put(answer));
            }
            Err(error) => tickets.iter().for_each(|ticket| ticket.put(Err(error.clone()))),
        }
    }

    fn secure(&self, durable: bool) -> Result<(), JournalError> {
        if durable {
            return self.syncer.sync_now();
        }
        self.syncer.sync_soon();
        Ok(())
    }
}

fn transact(connection: &Connection, works: Vec<Work>) -> Result<Vec<Answer>, JournalError> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let mut answers = Vec::with_capacity(works.len());
    for work in works {
        match work(connection) {
            Ok(answer) => answers.push(Ok(answer)),
            Err(WorkError::Refused(refusal)) => answers.push(Err(refusal)),
            Err(WorkError::Failed(error)) => return Err(undo(connection, error)),
        }
    }
    match connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])) {
        Ok(_) => Ok(answers),
        Err(error) => Err(undo(connection, error)),
    }
}

fn undo(connection: &Connection, error: rusqlite::Error) -> JournalError {
    // A full disk may have ended the transaction already; then this has nothing to do.
    let _ = connection.execute_batch("ROLLBACK");
    error.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::sqlite::schema::{self, Places};

    #[test]
    fn a_full_disk_undoes_the_whole_transaction_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let places = Places::of(directory.path());
        schema::prepare(&places).unwrap();
        let connection = schema::open_writer(&places).unwrap();
        connection.execute_batch("CREATE TABLE t (x); PRAGMA max_page_count = 20;").unwrap();
        let group = GroupCommit::new(connection, Syncer::start(&places.wal).unwrap(), false);
        let insert = |bytes: usize| {
            group.write(Durability::Ordered, move |c| {
                c.execute("INSERT INTO t VALUES ('small')", [])?;
                Ok(c.execute("INSERT INTO t VALUES (zeroblob(?1))", [bytes as i64])? as u64)
            })
        };
        assert_eq!(insert(100), Ok(1));
        assert_eq!(insert(10 << 20), Err(JournalError::Full));
        assert_eq!(insert(100), Ok(1));
        let rows = group.write(Durability::Ordered, |c| {
            Ok(c.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))? as u64)
        });
        assert_eq!(rows, Ok(4));
    }

    #[test]
    fn a_refusal_leaves_the_rest_of_its_transaction() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
        let works: Vec<Work> = vec![
            Box::new(|c| Ok(c.execute("INSERT INTO t VALUES (1)", [])? as u64)),
            Box::new(|_| Err(WorkError::Refused(JournalError::NoRun("x".into())))),
            Box::new(|c| {
                Ok(c.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0))? as u64)
            }),
        ];
        let answers = transact(&connection, works).unwrap();
        assert_eq!(answers, [Ok(1), Err(JournalError::NoRun("x".into())), Ok(1)]);
        assert!(connection.is_autocommit());
    }
}
