//! The contract of a journal, checked for every back end.
//!
//! A new back end implements [`BackEnd`] and adds one line of `contract!` at the end of this file.
//! The durability of SQLite is tested in `journal`, `crash` and `disk`.

use crate::journals::{append, id, masked_event, masked_json, masked_text, new_run, started, wait};
use kb::definition::SyncMode;
use kb::journal::memory::MemoryJournal;
use kb::journal::sqlite::SqliteJournal;
use kb::journal::{Batch, Durability, Journal, JournalError, NewRun, StoredEvent};
use kb::run::{Event, InstanceIx, RunStatus};
use kb::value::{Digest, RunId, Timestamp};
use serde_json::json;
use std::sync::Arc;

/// One implementation of the contract with its storage.
trait BackEnd {
    /// Creates empty storage.
    fn new() -> Self;
    /// Opens the storage, as a process does at its start.
    fn open(&self) -> Arc<dyn Journal>;
    /// Ends the process that opened `journal` without releasing its leases, and opens the storage
    /// in the next process.
    fn crash(&self, journal: Arc<dyn Journal>) -> Arc<dyn Journal>;
}

impl BackEnd for MemoryJournal {
    fn new() -> Self {
        MemoryJournal::new()
    }

    fn open(&self) -> Arc<dyn Journal> {
        Arc::new(self.clone())
    }

    fn crash(&self, journal: Arc<dyn Journal>) -> Arc<dyn Journal> {
        self.expire_leases();
        journal
    }
}

/// SQLite in a temporary folder.
struct Sqlite<const FULL: bool>(tempfile::TempDir);

impl<const FULL: bool> BackEnd for Sqlite<FULL> {
    fn new() -> Self {
        Sqlite(tempfile::tempdir().unwrap())
    }

    fn open(&self) -> Arc<dyn Journal> {
        let sync = if FULL { SyncMode::Full } else { SyncMode::Normal };
        Arc::new(SqliteJournal::open(self.0.path(), sync).unwrap())
    }

    fn crash(&self, journal: Arc<dyn Journal>) -> Arc<dyn Journal> {
        drop(journal);
        self.open()
    }
}

/// A journal with the run `r-one` of three events, and `r-two` and `s-three` of none.
fn three_runs(back_end: &impl BackEnd) -> Arc<dyn Journal> {
    let journal = back_end.open();
    for (run, at) in [("r-one", 5), ("r-two", 7), ("s-three", 8)] {
        assert_eq!(journal.create(new_run(run, at)), Ok(1));
    }
    assert_eq!(append(&*journal, "r-one", 1, 0, &[started(0), started(1)]), Ok(2));
    assert_eq!(append(&*journal, "r-one", 1, 2, &[started(2)]), Ok(3));
    journal
}

fn a_run_is_created_once(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    assert!(journal.create(new_run("r-one", 6)).is_err());
    let row = journal.run(&id("r-two")).unwrap();
    assert_eq!((row.definition.as_str(), row.started_at, row.epoch), ("demo", Timestamp(7), 1));
    assert_eq!(row.kb_version, env!("CARGO_PKG_VERSION"));
    assert_eq!((row.status, row.ended_at), (RunStatus::Running, None));
    let frozen = journal.frozen(&id("r-two")).unwrap();
    assert_eq!(frozen.to_string(), r#"{"z":1,"a":["r-two"]}"#, "keys keep their order");
}

fn an_append_follows_the_last_event(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    assert_eq!(append(&*journal, "r-one", 1, 3, &[]), Ok(3));
    for wrong in [0, 2, 4] {
        let text = format!("run `r-one` has 3 events, but the writer expected {wrong}");
        let refused = append(&*journal, "r-one", 1, wrong, &[started(9)]);
        assert_eq!(refused, Err(JournalError::Broken(text)));
    }
    assert_eq!(append(&*journal, "r-two", 1, 0, &[started(7)]), Ok(1));
    assert_eq!(journal.events(&id("r-one"), 0).unwrap().len(), 3, "runs are separate");
}

fn events_are_read_in_order_and_in_parts(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let stored = |seq, at, event| {
        let event = masked_event(event);
        StoredEvent { seq, at: Timestamp(at), epoch: 1, event, digest: None }
    };
    // Digests are tested with the hash chain.
    let without_digests = |after, limit| {
        let mut events = journal.read_events(&id("r-one"), after, limit).unwrap();
        events.iter_mut().for_each(|stored| stored.digest = None);
        events
    };
    let all =
        [stored(1, 1000, started(0)), stored(2, 1000, started(1)), stored(3, 1002, started(2))];
    assert_eq!(without_digests(0, usize::MAX), all);
    assert_eq!(without_digests(0, 2), all[..2]);
    assert_eq!(without_digests(1, 1), all[1..2]);
    assert_eq!(without_digests(2, usize::MAX), all[2..]);
    assert_eq!(without_digests(3, usize::MAX), []);
    assert_eq!(without_digests(9, usize::MAX), []);
}

fn events_survive_the_process(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let before = journal.events(&id("r-one"), 0).unwrap();
    let head = wait(journal.chain_head(&id("r-one"))).unwrap();
    let journal = back_end.crash(journal);
    assert_eq!(journal.events(&id("r-one"), 0).unwrap(), before);
    assert_eq!(wait(journal.chain_head(&id("r-one"))).unwrap(), head);
    assert_eq!(head, before.last().unwrap().digest);
}

fn the_ledger_has_everything_that_is_stored(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let ledger = journal.ledger(&id("r-one")).unwrap();
    assert_eq!((ledger.run.as_str(), ledger.definition.as_str()), ("r-one", "demo"));
    assert_eq!((ledger.started_at, ledger.last_seq), (Timestamp(5), 3));
    assert_eq!(ledger.status, "running");
    assert_eq!(ledger.frozen, r#"{"z":1,"a":["r-one"]}"#);
    assert_eq!(ledger.head, wait(journal.chain_head(&id("r-one"))).unwrap());
    let events = journal.events(&id("r-one"), 0).unwrap();
    for (row, stored) in ledger.rows.iter().zip(&events) {
        assert_eq!((row.seq, row.at, row.epoch), (stored.seq, stored.at, stored.epoch));
        assert_eq!((row.kind.as_str(), row.digest, row.blob), ("started", stored.digest, None));
        assert_eq!(serde_json::from_slice::<Event>(&row.body).unwrap(), *stored.event);
    }
    assert_eq!(ledger.rows.len(), events.len());
    assert!(!ledger.has_chain() || ledger.breaks().is_empty(), "{:?}", ledger.breaks());
}

fn runs_are_listed_and_resolved(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let resolve = |text: &str| journal.resolve(text).map(|run| run.to_string());
    assert_eq!(resolve("@last"), Ok("s-three".into()));
    assert_eq!(resolve("s"), Ok("s-three".into()));
    assert_eq!(resolve("r-one"), Ok("r-one".into()));
    assert_eq!(resolve("r-"), Err(JournalError::Ambiguous { prefix: "r-".into(), count: 2 }));
    let child = masked_json(json!({"parent": "r-one"}));
    assert_eq!(journal.create(NewRun { frozen: child, ..new_run("t-child", 9) }), Ok(1));
    assert_eq!(resolve("@last"), Ok("s-three".into()), "a child run is not the last run");
    assert_eq!(resolve("t"), Ok("t-child".into()));
    for unknown in ["x", "", "%"] {
        assert_eq!(resolve(unknown), Err(JournalError::NoRun(unknown.into())));
    }
    let listed: Vec<String> =
        journal.list().unwrap().iter().map(|row| row.run.to_string()).collect();
    assert_eq!(listed, ["t-child", "s-three", "r-two", "r-one"], "newest first");
}

fn blobs_are_stored_by_their_digest(back_end: &impl BackEnd) {
    let journal = back_end.open();
    let digest = journal.put_blob(&masked_text("content")).unwrap();
    assert_eq!(digest, Digest::of(b"content"));
    assert_eq!(journal.put_blob(&masked_text("content")), Ok(digest));
    let empty = journal.put_blob(&masked_text("")).unwrap();
    let journal = back_end.crash(journal);
    assert_eq!(journal.blob(&digest).unwrap(), b"content");
    assert_eq!(journal.blob(&empty).unwrap(), b"");
    let missing = journal.blob(&Digest::of(b"never stored"));
    assert!(matches!(missing, Err(JournalError::Damaged(text)) if text.ends_with("is missing")));
}

fn a_message_is_stored_once_and_acknowledged_once(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let run = id("r-one");
    let pending = |run: &RunId| wait(journal.pending(run)).unwrap();
    journal.post(&run, "k1", "cancel", json!({"by": "me"})).unwrap();
    journal.post(&run, "k1", "cancel", json!({"by": "again"})).unwrap();
    journal.post(&run, "k2", "approve", json!({"step": "deploy"})).unwrap();
    journal.post(&id("r-two"), "k1", "answer", json!("yes")).unwrap();
    let items = pending(&run);
    let messages: Vec<_> =
        items.iter().map(|item| (item.kind.as_str(), item.body.clone())).collect();
    let expected = [("cancel", json!({"by": "me"})), ("approve", json!({"step": "deploy"}))];
    assert_eq!(messages, expected);
    wait(journal.acknowledge(&run, 1, &[items[0].id])).unwrap();
    assert_eq!(pending(&run), items[1..]);
    journal.post(&run, "k1", "cancel", json!({"by": "late"})).unwrap();
    assert_eq!(pending(&run), items[1..], "a key is used once");
    let others = pending(&id("r-two"));
    wait(journal.acknowledge(&run, 1, &[others[0].id])).unwrap();
    assert_eq!(pending(&id("r-two")), others, "a run acknowledges its own messages only");
}

fn a_message_is_acknowledged_with_its_events(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let run = id("r-one");
    let pending = || wait(journal.pending(&run)).unwrap();
    journal.post(&run, "k1", "cancel", json!({})).unwrap();
    journal.post(&run, "k2", "approve", json!({})).unwrap();
    let messages = pending();
    let (at, durability) = (Timestamp(99), Durability::Durable);
    let (events, acknowledged) = ([masked_event(started(4))], [messages[0].id]);
    let batch = Batch { acknowledged: &acknowledged, durability, ..Batch::after(3, at, &events) };
    let misplaced = Batch { expected: 2, ..batch };
    assert!(wait(journal.append(&run, 1, misplaced)).is_err());
    assert_eq!(pending(), messages, "a refused append acknowledges nothing");
    wait(journal.append(&run, 1, batch)).unwrap();
    assert_eq!(pending(), messages[1..]);
}

fn a_batch_sets_the_status(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let (run, at) = (id("r-one"), Timestamp(99));
    let row = || journal.run(&run).unwrap();
    let failed = Batch { status: RunStatus::Failed, ..Batch::after(3, at, &[]) };
    wait(journal.append(&run, 1, failed)).unwrap();
    assert_eq!((row().status, row().ended_at), (RunStatus::Failed, Some(at)));
    let waits = Batch { status: RunStatus::Waiting, ..Batch::after(3, at, &[]) };
    wait(journal.append(&run, 1, waits)).unwrap();
    wait(journal.release(&run, 1));
    assert_eq!((row().status, row().ended_at), (RunStatus::Waiting, None));
}

fn a_lease_has_one_owner(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let run = id("r-one");
    let status = |journal: &dyn Journal| journal.run(&run).unwrap().status;
    let leased = Err(JournalError::Leased { run: "r-one".into(), pid: std::process::id() });
    let lost = Err(JournalError::LeaseLost("r-one".into()));
    assert!(journal.is_leased(&run).unwrap());
    assert_eq!((status(&*journal), journal.acquire(&run)), (RunStatus::Running, leased.clone()));
    for epoch in [0, 2] {
        assert_eq!(append(&*journal, "r-one", epoch, 3, &[started(9)]), lost);
    }

    let journal = back_end.crash(journal);
    assert!(!journal.is_leased(&run).unwrap());
    assert_eq!(status(&*journal), RunStatus::Interrupted);
    assert_eq!(append(&*journal, "r-one", 1, 3, &[started(9)]), lost, "the lease is not owned");
    assert_eq!(journal.acquire(&run), Ok(2));
    assert_eq!((status(&*journal), journal.acquire(&run)), (RunStatus::Running, leased));
    assert_eq!(append(&*journal, "r-one", 1, 3, &[]), lost);
    assert_eq!(append(&*journal, "r-one", 2, 3, &[started(3)]), Ok(4));
    assert_eq!(journal.events(&run, 3).unwrap()[0].epoch, 2);
    assert_eq!(journal.run(&run).unwrap().epoch, 2);
}

fn a_lease_is_released_by_its_owner(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let run = id("r-one");
    let lost = Err(JournalError::LeaseLost("r-one".into()));
    wait(journal.release(&run, 7));
    assert!(journal.is_leased(&run).unwrap(), "another epoch releases nothing");
    wait(journal.release(&run, 1));
    assert!(!journal.is_leased(&run).unwrap());
    assert_eq!(append(&*journal, "r-one", 1, 3, &[]), lost);
    assert_eq!(journal.acquire(&run), Ok(2));
    journal.post(&run, "k", "cancel", json!({})).unwrap();
    let messages = wait(journal.pending(&run)).unwrap();
    let stale = wait(journal.acknowledge(&run, 1, &[messages[0].id]));
    assert_eq!(stale, Err(JournalError::LeaseLost("r-one".into())));
    assert_eq!(wait(journal.pending(&run)).unwrap(), messages);
}

fn an_unknown_run_is_an_error(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let run = id("r-none");
    let none = || JournalError::NoRun("r-none".into());
    assert_eq!(journal.run(&run), Err(none()));
    assert_eq!(journal.frozen(&run), Err(none()));
    assert_eq!(journal.events(&run, 0), Err(none()));
    assert_eq!(append(&*journal, "r-none", 1, 0, &[started(0)]), Err(none()));
    assert_eq!(wait(journal.chain_head(&run)), Err(none()));
    assert_eq!(journal.ledger(&run).map(drop), Err(none()));
    assert_eq!(journal.post(&run, "k", "cancel", json!(null)), Err(none()));
    assert_eq!(wait(journal.pending(&run)), Err(none()));
    assert_eq!(wait(journal.acknowledge(&run, 1, &[1])), Err(none()));
    assert_eq!(journal.acquire(&run), Err(none()));
    assert_eq!(journal.is_leased(&run), Err(none()));
    assert_eq!(journal.previous_owner(&run), None);
}

/// The end of a run whose outputs are in a blob.
fn ended_with(digest: Digest) -> Event {
    let outputs = kb::evidence::Payload::Blob { digest, bytes: 3 };
    Event::RunEnded { status: RunStatus::Succeeded, outputs, failure: None }
}

fn end(journal: &dyn Journal, run: &str, expected: u64, blob: Digest) {
    let events = [masked_event(ended_with(blob))];
    let batch =
        Batch { status: RunStatus::Succeeded, ..Batch::after(expected, Timestamp(2000), &events) };
    wait(journal.append(&id(run), 1, batch)).unwrap();
    wait(journal.release(&id(run), 1));
}

fn only_an_ended_run_without_an_owner_is_removed(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let run = id("r-one");
    assert!(matches!(journal.remove(&run), Err(JournalError::Leased { .. })));
    wait(journal.release(&run, 1));
    assert!(journal.remove(&run).is_err(), "it has not ended");
    assert_eq!(journal.acquire(&run), Ok(2));
    let batch = Batch { status: RunStatus::Failed, ..Batch::after(3, Timestamp(9), &[]) };
    wait(journal.append(&run, 2, batch)).unwrap();
    wait(journal.release(&run, 2));
    journal.post(&run, "k", "cancel", json!({})).unwrap();
    assert_eq!(journal.remove(&run), Ok(()));
    assert_eq!(journal.run(&run), Err(JournalError::NoRun("r-one".into())));
    assert_eq!(journal.remove(&run), Err(JournalError::NoRun("r-one".into())));
    let journal = back_end.open();
    assert_eq!(journal.events(&run, 0), Err(JournalError::NoRun("r-one".into())));
    let left: Vec<RunId> = journal.list().unwrap().into_iter().map(|row| row.run).collect();
    assert_eq!(left, [id("s-three"), id("r-two")]);
    assert_eq!(journal.create(new_run("r-one", 5)), Ok(1), "nothing of it is left");
    assert_eq!(journal.events(&run, 0), Ok(Vec::new()));
    assert_eq!(wait(journal.pending(&run)), Ok(Vec::new()));
}

fn blobs_are_removed_with_the_last_run_that_refers_to_them(back_end: &impl BackEnd) {
    let journal = three_runs(back_end);
    let [own, shared, running] =
        ["own", "shared", "running"].map(|text| journal.put_blob(&masked_text(text)).unwrap());
    let own_event = Event::Expanded {
        instance: InstanceIx(0),
        first: InstanceIx(3),
        keys: Vec::new(),
        items: kb::evidence::Payload::Blob { digest: own, bytes: 3 },
        keyed: false,
    };
    append(&*journal, "r-one", 1, 3, &[own_event]).unwrap();
    end(&*journal, "r-one", 4, shared);
    end(&*journal, "r-two", 0, shared);
    journal.remove(&id("r-one")).unwrap();
    assert_eq!(journal.remove_unused_blobs(), Ok(0), "`s-three` may refer to each of them soon");
    assert!(journal.blob(&running).is_ok() && journal.blob(&own).is_ok());
    end(&*journal, "s-three", 0, running);
    assert_eq!(journal.remove_unused_blobs(), Ok(3));
    assert!(journal.blob(&own).is_err());
    assert_eq!(journal.blob(&shared), Ok(b"shared".to_vec()));
    assert_eq!(journal.blob(&running), Ok(b"running".to_vec()));
    journal.remove(&id("r-two")).unwrap();
    assert_eq!(journal.remove_unused_blobs(), Ok(6));
    assert_eq!(
        journal.put_blob(&masked_text("shared")),
        Ok(shared),
        "a removed blob can be stored again"
    );
    assert!(journal.blob(&shared).is_ok());
}

fn child_runs_know_their_parent(back_end: &impl BackEnd) {
    let journal = back_end.open();
    journal.create(new_run("r-parent", 1)).unwrap();
    let frozen = masked_json(json!({"parent": {"run": "r-parent", "instance": "call"}}));
    journal.create(NewRun { frozen, ..new_run("r-child", 2) }).unwrap();
    let parents: Vec<_> = journal.parents().unwrap().into_iter().collect();
    assert_eq!(parents, [(id("r-child"), id("r-parent"))]);
}

fn a_journal_on_a_healthy_disk_has_space(back_end: &impl BackEnd) {
    assert_eq!(back_end.open().check_space(), Ok(()));
}

/// One test for each rule of the contract and each back end.
macro_rules! contract {
    ($name:ident, $back_end:ty) => {
        contract!($name, $back_end:
            a_run_is_created_once
            child_runs_know_their_parent
            only_an_ended_run_without_an_owner_is_removed
            blobs_are_removed_with_the_last_run_that_refers_to_them
            an_append_follows_the_last_event
            events_are_read_in_order_and_in_parts
            events_survive_the_process
            the_ledger_has_everything_that_is_stored
            runs_are_listed_and_resolved
            blobs_are_stored_by_their_digest
            a_message_is_stored_once_and_acknowledged_once
            a_message_is_acknowledged_with_its_events
            a_batch_sets_the_status
            a_lease_has_one_owner
            a_lease_is_released_by_its_owner
            an_unknown_run_is_an_error
            a_journal_on_a_healthy_disk_has_space);
    };
    ($name:ident, $back_end:ty: $($rule:ident)*) => {
        mod $name {
            use super::*;
            $(#[test] fn $rule() { super::$rule(&<$back_end as BackEnd>::new()) })*
        }
    };
}

contract!(memory, MemoryJournal);
contract!(sqlite, Sqlite<false>);
contract!(sqlite_full_sync, Sqlite<true>);
