//! The journal: one set of statements that holds for every implementation, and those of the disk.

use kb::definition::SyncMode;
use kb::journal::memory::MemoryJournal;
use kb::journal::sqlite::SqliteJournal;
use kb::journal::{Batch, Durability, Journal, JournalError, NewRun, StoredEvent};
use kb::run::{Event, InstanceIx, RunStatus};
use kb::value::{Digest, RunId, Timestamp};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn id(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

fn new_run(run: &str, at: i64) -> NewRun {
    let frozen = json!({"z": 1, "a": [run]});
    NewRun { run: id(run), definition: "demo".into(), at: Timestamp(at), frozen }
}

fn started(instance: u32) -> Event {
    Event::Started { instance: InstanceIx(instance), attempt: 1 }
}

fn append(
    journal: &dyn Journal,
    run: &str,
    epoch: u64,
    expected: u64,
    events: &[Event],
) -> Result<u64, JournalError> {
    let at = Timestamp(1000 + expected as i64);
    journal.append(&id(run), epoch, Batch::after(expected, at, events))
}

fn open(directory: &Path) -> SqliteJournal {
    SqliteJournal::open(directory, SyncMode::Normal).unwrap()
}

/// Every promise of the trait. `lose` ends the holder without a goodbye and gives the journal as the
/// next process sees it.
fn check_conformance<J: Journal>(journal: J, lose: impl Fn(J) -> J) {
    check_events(&journal);
    check_naming(&journal);
    check_blobs(&journal);
    check_inbox(&journal);
    check_holding(journal, lose);
}

fn check_events(journal: &dyn Journal) {
    assert_eq!(journal.create(new_run("r-one", 5)), Ok(1));
    assert!(journal.create(new_run("r-one", 6)).is_err());
    assert_eq!(append(journal, "r-one", 1, 0, &[started(0), started(1)]), Ok(2));
    assert_eq!(append(journal, "r-one", 1, 2, &[]), Ok(2));
    assert_eq!(append(journal, "r-one", 1, 2, &[started(2)]), Ok(3));
    for wrong in [0, 2, 4] {
        let text = format!("run `r-one` has 3 events where its holder counts {wrong}");
        let refused = append(journal, "r-one", 1, wrong, &[started(9)]);
        assert_eq!(refused, Err(JournalError::Broken(text)));
    }
    let stale = Err(JournalError::LeaseLost("r-one".into()));
    assert_eq!(append(journal, "r-one", 0, 3, &[started(9)]), stale);
    assert_eq!(append(journal, "r-one", 2, 3, &[started(9)]), stale);
    let place =
        |seq, at, event| StoredEvent { seq, at: Timestamp(at), epoch: 1, event, digest: None };
    // Where a chain is kept, the tests of the chain look at it.
    let without_digests = |after| {
        let mut events = journal.events(&id("r-one"), after).unwrap();
        events.iter_mut().for_each(|stored| stored.digest = None);
        events
    };
    let all = [place(1, 1000, started(0)), place(2, 1000, started(1)), place(3, 1002, started(2))];
    assert_eq!(without_digests(0), all);
    assert_eq!(without_digests(2), all[2..]);
    assert_eq!(without_digests(3), []);
    let none = JournalError::NoRun("r-none".into());
    assert_eq!(journal.events(&id("r-none"), 0), Err(none.clone()));
    assert_eq!(append(journal, "r-none", 1, 0, &[started(0)]), Err(none));
}

fn check_naming(journal: &dyn Journal) {
    journal.create(new_run("r-two", 7)).unwrap();
    journal.create(new_run("s-three", 8)).unwrap();
    assert_eq!(append(journal, "r-two", 1, 0, &[started(7)]), Ok(1));
    assert_eq!(journal.events(&id("r-one"), 0).unwrap().len(), 3, "runs do not mix");

    let names = |text: &str| journal.find(text).map(|run| run.to_string());
    assert_eq!(names("@last"), Ok("s-three".into()));
    assert_eq!(names("s"), Ok("s-three".into()));
    assert_eq!(names("r-one"), Ok("r-one".into()));
    assert_eq!(names("r-"), Err(JournalError::Ambiguous { prefix: "r-".into(), count: 2 }));
    assert_eq!(names("x"), Err(JournalError::NoRun("x".into())));
    assert_eq!(names(""), Err(JournalError::NoRun("".into())));
    assert_eq!(names("%"), Err(JournalError::NoRun("%".into())));

    let listed: Vec<String> =
        journal.list().unwrap().iter().map(|row| row.run.to_string()).collect();
    assert_eq!(listed, ["s-three", "r-two", "r-one"]);
    let row = journal.run(&id("r-two")).unwrap();
    assert_eq!((row.definition.as_str(), row.started_at, row.epoch), ("demo", Timestamp(7), 1));
    let frozen = journal.frozen(&id("r-two")).unwrap();
    assert_eq!(frozen.to_string(), r#"{"z":1,"a":["r-two"]}"#, "keys keep their order");
    assert_eq!(journal.frozen(&id("r-none")), Err(JournalError::NoRun("r-none".into())));
    assert_eq!(row.kb_version, env!("CARGO_PKG_VERSION"));
    assert_eq!(journal.run(&id("r-none")), Err(JournalError::NoRun("r-none".into())));
}

fn check_blobs(journal: &dyn Journal) {
    let digest = journal.put_blob(b"content").unwrap();
    assert_eq!(digest, Digest::of(b"content"));
    assert_eq!(journal.put_blob(b"content"), Ok(digest));
    assert_eq!(journal.blob(&digest).unwrap(), b"content");
    let empty = journal.put_blob(b"").unwrap();
    assert_eq!(journal.blob(&empty).unwrap(), b"");
    let missing = journal.blob(&Digest::of(b"never stored"));
    assert!(matches!(missing, Err(JournalError::Damaged(text)) if text.ends_with("is missing")));
}

fn check_inbox(journal: &dyn Journal) {
    let run = id("r-one");
    journal.post(&run, "k1", "cancel", json!({"by": "me"})).unwrap();
    journal.post(&run, "k1", "cancel", json!({"by": "again"})).unwrap();
    journal.post(&run, "k2", "approve", json!({"step": "deploy"})).unwrap();
    journal.post(&id("r-two"), "k1", "answer", json!("yes")).unwrap();
    let items = journal.inbox(&run).unwrap();
    let said: Vec<_> = items.iter().map(|item| (item.kind.as_str(), item.body.clone())).collect();
    assert_eq!(said, [("cancel", json!({"by": "me"})), ("approve", json!({"step": "deploy"}))]);
    journal.taken(&run, 1, &[items[0].id]).unwrap();
    assert_eq!(journal.inbox(&run).unwrap(), items[1..]);
    journal.post(&run, "k1", "cancel", json!({"by": "late"})).unwrap();
    assert_eq!(journal.inbox(&run).unwrap(), items[1..], "a taken key stays taken");
    let others = journal.inbox(&id("r-two")).unwrap();
    journal.taken(&run, 1, &[others[0].id]).unwrap();
    assert_eq!(journal.inbox(&id("r-two")).unwrap(), others, "each run takes its own");
    let none = journal.post(&id("r-none"), "k", "cancel", json!(null));
    assert_eq!(none, Err(JournalError::NoRun("r-none".into())));
}

fn check_holding<J: Journal>(journal: J, lose: impl Fn(J) -> J) {
    let run = id("r-one");
    let status = |journal: &J| journal.run(&run).unwrap().status;
    let held = Err(JournalError::Leased { run: "r-one".into(), pid: std::process::id() });
    assert!(journal.is_leased(&run).unwrap());
    assert_eq!((status(&journal), journal.take(&run)), (RunStatus::Running, held.clone()));

    let journal = lose(journal);
    assert!(!journal.is_leased(&run).unwrap());
    assert_eq!(status(&journal), RunStatus::Interrupted);
    let gone = append(&journal, "r-one", 1, 3, &[started(9)]);
    assert_eq!(gone, Err(JournalError::LeaseLost("r-one".into())));
    assert_eq!(journal.take(&run), Ok(2));
    assert_eq!((status(&journal), journal.take(&run)), (RunStatus::Running, held));
    assert_eq!(append(&journal, "r-one", 1, 3, &[]), Err(JournalError::LeaseLost("r-one".into())));
    assert_eq!(append(&journal, "r-one", 2, 3, &[started(3)]), Ok(4));
    assert_eq!(journal.events(&run, 3).unwrap()[0].epoch, 2);

    journal.release(&run, 1);
    assert!(journal.is_leased(&run).unwrap(), "an old epoch releases nothing");
    journal.release(&run, 2);
    assert!(!journal.is_leased(&run).unwrap());
    assert_eq!(append(&journal, "r-one", 2, 4, &[]), Err(JournalError::LeaseLost("r-one".into())));
    assert_eq!(journal.take(&run), Ok(3));
    let left = journal.inbox(&run).unwrap();
    let stale = journal.taken(&run, 2, &[left[0].id]);
    assert_eq!(stale, Err(JournalError::LeaseLost("r-one".into())), "what is left is not its own");
    assert_eq!(journal.inbox(&run).unwrap(), left);

    let (at, durability) = (Timestamp(99), Durability::Durable);
    let (status, events, taken) = (RunStatus::Failed, [started(4)], [left[0].id]);
    let batch = Batch { status, taken: &taken, durability, ..Batch::after(4, at, &events) };
    let misplaced = Batch { expected: 3, ..batch };
    assert!(journal.append(&run, 3, misplaced).is_err());
    assert_eq!(journal.inbox(&run).unwrap(), left, "nothing of it is stored, so nothing is taken");
    journal.append(&run, 3, batch).unwrap();
    assert_eq!(journal.inbox(&run).unwrap(), left[1..], "taken with what came of it");
    let row = journal.run(&run).unwrap();
    assert_eq!((row.status, row.ended_at, row.epoch), (RunStatus::Failed, Some(at), 3));
    let waits = Batch { status: RunStatus::Waiting, durability, ..Batch::after(5, at, &[]) };
    journal.append(&run, 3, waits).unwrap();
    journal.release(&run, 3);
    let row = journal.run(&run).unwrap();
    assert_eq!((row.status, row.ended_at), (RunStatus::Waiting, None));
    assert_eq!(journal.take(&id("r-none")), Err(JournalError::NoRun("r-none".into())));
    assert_eq!(journal.is_leased(&id("r-none")), Err(JournalError::NoRun("r-none".into())));
}

#[test]
fn memory_keeps_the_promises() {
    check_conformance(MemoryJournal::new(), |journal| {
        journal.expire_leases();
        journal
    });
}

#[test]
fn sqlite_keeps_the_promises() {
    for sync in [SyncMode::Normal, SyncMode::Full] {
        let directory = tempfile::tempdir().unwrap();
        let open = || SqliteJournal::open(directory.path(), sync).unwrap();
        check_conformance(open(), |journal| {
            drop(journal);
            open()
        });
    }
}

/// A lock is the first guard and the epoch the last: who has lost the lock without a notice writes
/// nothing from the moment on in which another has taken the run, before that one has written.
#[test]
fn a_holder_that_lost_its_lock_is_refused_by_its_epoch() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second, run) = (open(directory.path()), open(directory.path()), id("r"));
    first.create(new_run("r", 1)).unwrap();
    append(&first, "r", 1, 0, &[started(0)]).unwrap();
    first.post(&run, "k", "cancel", json!({})).unwrap();
    std::fs::remove_file(directory.path().join("locks/r.lock")).unwrap();
    assert_eq!(second.take(&run), Ok(2));
    let stale = JournalError::LeaseLost("r".into());
    assert_eq!(append(&first, "r", 1, 1, &[started(1)]), Err(stale.clone()));
    let left = first.inbox(&run).unwrap();
    assert_eq!(first.taken(&run, 1, &[left[0].id]), Err(stale));
    assert_eq!(second.inbox(&run).unwrap(), left);
    first.release(&run, 1);
    assert!(second.is_leased(&run).unwrap(), "the lock is another's by now");
    assert_eq!(append(&second, "r", 2, 1, &[started(2)]), Ok(2));
}

#[test]
fn files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("deep/state");
    let journal = open(&state);
    journal.create(new_run("r", 1)).unwrap();
    journal.put_blob(b"x").unwrap();
    fn check(path: &Path) {
        let mode = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{}: {mode:o}", path.display());
        if path.is_dir() {
            std::fs::read_dir(path).unwrap().for_each(|entry| check(&entry.unwrap().path()));
        }
    }
    check(&state);
}

#[test]
fn a_newer_journal_is_refused_untouched() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let file = directory.path().join("journal.sqlite3");
    let newer = rusqlite::Connection::open(&file).unwrap();
    newer.execute_batch("PRAGMA user_version = 3; CREATE TABLE other (x);").unwrap();
    drop(newer);
    let before = std::fs::read(&file).unwrap();
    let refused = SqliteJournal::open(directory.path(), SyncMode::Normal).err();
    assert_eq!(refused, Some(JournalError::Newer { found: 3, known: 2 }));
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn damage_is_named_and_is_no_panic() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("journal.sqlite3"), "this is no database, is it").unwrap();
    match SqliteJournal::open(directory.path(), SyncMode::Normal).err() {
        Some(JournalError::Broken(text)) => {
            assert!(text.starts_with("the journal file is damaged: "), "{text}");
        }
        other => panic!("{other:?}"),
    }
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let refused = SqliteJournal::open(&file.join("state"), SyncMode::Normal).err();
    assert!(matches!(refused, Some(JournalError::Broken(text)) if text.starts_with("cannot make")));
}

#[test]
fn one_unreadable_record_does_not_hide_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    for run in ["good", "bad"] {
        journal.create(new_run(run, 1)).unwrap();
        append(&journal, run, 1, 0, &[started(0)]).unwrap();
    }
    let other = rusqlite::Connection::open(directory.path().join("journal.sqlite3")).unwrap();
    let spoil = "UPDATE events SET body = '{\"type\":\"fromLater\"}'
                 WHERE position > (SELECT number << 40 FROM runs WHERE run = 'bad')";
    assert_eq!(other.execute(spoil, []).unwrap(), 1);
    assert_eq!(journal.events(&id("good"), 0).unwrap().len(), 1);
    match journal.events(&id("bad"), 0) {
        Err(JournalError::Broken(text)) => {
            assert!(text.starts_with("run `bad` cannot be read: event 1 is damaged"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_damaged_blob_is_refused_and_mended_by_storing_it_again() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    let digest = journal.put_blob(b"what was said").unwrap();
    let name = digest.to_string();
    let file = directory.path().join("blobs").join(&name[..2]).join(&name[2..]);
    std::fs::write(&file, "what was not").unwrap();
    match journal.blob(&digest) {
        Err(JournalError::Damaged(text)) => assert!(text.ends_with("its content has changed")),
        other => panic!("{other:?}"),
    }
    journal.put_blob(b"what was said").unwrap();
    assert_eq!(journal.blob(&digest).unwrap(), b"what was said");
}

#[test]
fn others_read_and_post_while_a_holder_writes() {
    let directory = tempfile::tempdir().unwrap();
    let holder = open(directory.path());
    holder.create(new_run("r", 1)).unwrap();
    let (done, posts) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (done, posts, directory) = (&done, &posts, directory.path());
            scope.spawn(move || {
                // Each with connections of its own, as in another process.
                let journal = open(directory);
                let mut seen = 0;
                while !done.load(Ordering::Relaxed) {
                    let events = journal.events(&id("r"), seen).unwrap();
                    assert!(events.iter().zip(seen + 1..).all(|(event, seq)| event.seq == seq));
                    seen += events.len() as u64;
                    let key = format!("{reader}-{}", posts.fetch_add(1, Ordering::Relaxed));
                    journal.post(&id("r"), &key, "cancel", json!({})).unwrap();
                    assert_eq!(journal.run(&id("r")).unwrap().status, RunStatus::Running);
                    let held = journal.take(&id("r"));
                    assert!(matches!(held, Err(JournalError::Leased { .. })), "{held:?}");
                }
            });
        }
        let batch: Vec<Event> = (0..20).map(started).collect();
        for round in 0..200 {
            append(&holder, "r", 1, round * 20, &batch).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(holder.events(&id("r"), 0).unwrap().len(), 4000);
    assert_eq!(holder.inbox(&id("r")).unwrap().len() as u64, posts.into_inner());
}

#[test]
fn runs_of_one_process_share_commits_and_keep_apart() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    std::thread::scope(|scope| {
        for run in 0..8_u32 {
            let journal = &journal;
            scope.spawn(move || {
                let name = format!("r{run}");
                journal.create(new_run(&name, 1)).unwrap();
                for seq in 0..50 {
                    let (at, event) = (Timestamp(2), [started(run)]);
                    let durability = Durability::Durable;
                    let batch = Batch { durability, ..Batch::after(seq, at, &event) };
                    journal.append(&id(&name), 1, batch).unwrap();
                }
            });
        }
    });
    for run in 0..8 {
        let events = journal.events(&id(&format!("r{run}")), 0).unwrap();
        assert_eq!(events.len(), 50);
        assert!(events.iter().all(|stored| stored.event == started(run)));
    }
}

#[test]
fn two_processes_may_make_the_journal_at_once() {
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for run in 0..8 {
            let directory = directory.path();
            scope.spawn(move || open(directory).create(new_run(&format!("r{run}"), 1)).unwrap());
        }
    });
    assert_eq!(open(directory.path()).list().unwrap().len(), 8);
}

/// Not a test by itself: holds a run until it is killed.
#[test]
#[ignore = "started and killed by another test"]
fn holder() {
    let directory = std::env::var("KB_TEST_JOURNAL").unwrap();
    let journal = open(Path::new(&directory));
    journal.create(new_run("r", 1)).unwrap();
    for seq in 0.. {
        append(&journal, "r", 1, seq, &[started(seq as u32)]).unwrap();
    }
}

#[test]
fn kill_nine_of_the_holder_frees_the_run_and_keeps_what_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    let mut holder = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "journal::holder", "--ignored"])
        .env("KB_TEST_JOURNAL", directory.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let mut seen = 0;
    while seen < 100 {
        assert!(std::time::Instant::now() < limit);
        seen = journal.events(&id("r"), 0).map_or(0, |events| events.len());
    }
    let held = JournalError::Leased { run: "r".into(), pid: holder.id() };
    assert_eq!(journal.take(&id("r")), Err(held));
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(journal.run(&id("r")).unwrap().status, RunStatus::Interrupted);
    assert_eq!(journal.take(&id("r")), Ok(2));
    let events = journal.events(&id("r"), 0).unwrap();
    assert!(events.len() >= seen);
    assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq), "no gaps");
    assert_eq!(append(&journal, "r", 2, events.len() as u64, &[]), Ok(events.len() as u64));
}
