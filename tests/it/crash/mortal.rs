//! A journal whose owner ends before or after a chosen write.

use super::transitions;
use crate::journals::wait;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use kb::journal::{
    Batch, Blobs, EventLog, Inbox, InboxItem, Journal, JournalError, Leases, Ledger, NewRun,
    RunIndex, RunRow, StoredEvent,
};
use kb::redaction::Masked;
use kb::run::Event;
use kb::value::{Digest, Json, RunId};
use std::sync::Mutex;

/// Whether a lease owner dies with its write done or not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// When a lease owner dies: at its n-th write, or once it has stored an event like this.
pub(super) struct Fate {
    death: Option<(usize, Side)>,
    omen: Option<fn(&Event) -> bool>,
    lived: Mutex<Lived>,
}

#[derive(Default)]
struct Lived {
    writes: usize,
    dead: bool,
    met: Vec<String>,
}

impl Fate {
    pub(super) fn at(death: Option<(usize, Side)>, omen: Option<fn(&Event) -> bool>) -> Fate {
        Fate { death, omen, lived: Mutex::default() }
    }

    pub(super) fn is_dead(&self) -> bool {
        self.lived.lock().unwrap().dead
    }

    pub(super) fn writes(&self) -> usize {
        self.lived.lock().unwrap().writes
    }

    /// What the write was at which it died: `append before`, and for each event in it
    /// `runStarted before`.
    pub(super) fn met(&self) -> Vec<String> {
        self.lived.lock().unwrap().met.clone()
    }

    /// Does a write unless the lease owner is dead by then.
    fn write<T>(
        &self,
        what: &str,
        events: &[Masked<Event>],
        write: impl FnOnce() -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let mut lived = self.lived.lock().unwrap();
        if lived.dead {
            return Err(dead());
        }
        lived.writes += 1;
        let due = self.death.filter(|(at, _)| *at == lived.writes).map(|(_, side)| side);
        let omen = self.omen.is_some_and(|omen| events.iter().any(|event| omen(event)));
        let now = due.or(omen.then_some(Side::After));
        lived.dead = now.is_some();
        if let Some(side) = now {
            let side = if side == Side::Before { "before" } else { "after" };
            let names =
                events.iter().flat_map(|event| transitions::names(event)).chain([what.to_owned()]);
            lived.met = names.map(|name| format!("{name} {side}")).collect();
        }
        if now == Some(Side::Before) {
            return Err(dead());
        }
        let done = write();
        if lived.dead { Err(dead()) } else { done }
    }

    fn read<T>(&self, read: impl FnOnce() -> Result<T, JournalError>) -> Result<T, JournalError> {
        if self.is_dead() { Err(dead()) } else { read() }
    }
}

fn dead() -> JournalError {
    JournalError::Broken("its owner was killed".into())
}

/// A journal whose owner dies at one of its writes. From then on nothing that the lease owner does has
/// any effect; what it had stored is there for the next.
pub(super) struct Mortal {
    inner: std::sync::Arc<dyn Journal>,
    fate: std::sync::Arc<Fate>,
}

impl Mortal {
    pub(super) fn new(inner: std::sync::Arc<dyn Journal>, fate: std::sync::Arc<Fate>) -> Mortal {
        Mortal { inner, fate }
    }
}

impl RunIndex for Mortal {
    fn create(&self, new: NewRun) -> Result<u64, JournalError> {
        self.fate.write("create", &[], || self.inner.create(new))
    }

    fn run(&self, run: &RunId) -> Result<RunRow, JournalError> {
        self.fate.read(|| self.inner.run(run))
    }

    fn frozen(&self, run: &RunId) -> Result<Json, JournalError> {
        self.fate.read(|| self.inner.frozen(run))
    }

    fn list(&self) -> Result<Vec<RunRow>, JournalError> {
        self.fate.read(|| self.inner.list())
    }

    fn remove(&self, run: &RunId) -> Result<(), JournalError> {
        self.fate.write("remove", &[], || self.inner.remove(run))
    }

    fn resolve(&self, text: &str) -> Result<RunId, JournalError> {
        self.fate.read(|| self.inner.resolve(text))
    }
}

impl EventLog for Mortal {
    fn append<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        batch: Batch<'a>,
    ) -> BoxFuture<'a, Result<u64, JournalError>> {
        let append = || wait(self.inner.append(run, epoch, batch));
        ready(self.fate.write("append", batch.events, append)).boxed()
    }

    fn read_events(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, JournalError> {
        self.fate.read(|| self.inner.read_events(run, after, limit))
    }

    fn chain_head<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<Digest>, JournalError>> {
        ready(self.fate.read(|| wait(self.inner.chain_head(run)))).boxed()
    }

    fn ledger(&self, run: &RunId) -> Result<Ledger, JournalError> {
        self.fate.read(|| self.inner.ledger(run))
    }
}

impl Blobs for Mortal {
    fn put_blob(&self, text: &Masked<String>) -> Result<Digest, JournalError> {
        self.fate.write("blob", &[], || self.inner.put_blob(text))
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, JournalError> {
        self.fate.read(|| self.inner.blob(digest))
    }

    fn remove_unused_blobs(&self) -> Result<u64, JournalError> {
        self.fate.write("remove blobs", &[], || self.inner.remove_unused_blobs())
    }
}

impl Inbox for Mortal {
    fn post(&self, run: &RunId, key: &str, kind: &str, body: Json) -> Result<bool, JournalError> {
        self.fate.write("post", &[], || self.inner.post(run, key, kind, body))
    }

    fn pending<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Vec<InboxItem>, JournalError>> {
        ready(self.fate.read(|| wait(self.inner.pending(run)))).boxed()
    }

    fn acknowledge<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        let acknowledge = || wait(self.inner.acknowledge(run, epoch, ids));
        ready(self.fate.write("taken", &[], acknowledge)).boxed()
    }
}

impl Leases for Mortal {
    fn acquire(&self, run: &RunId) -> Result<u64, JournalError> {
        self.fate.write("take", &[], || self.inner.acquire(run))
    }

    fn release<'a>(&'a self, run: &'a RunId, epoch: u64) -> BoxFuture<'a, ()> {
        if !self.fate.is_dead() {
            wait(self.inner.release(run, epoch));
        }
        ready(()).boxed()
    }

    fn is_leased(&self, run: &RunId) -> Result<bool, JournalError> {
        self.fate.read(|| self.inner.is_leased(run))
    }
}

impl Journal for Mortal {}
