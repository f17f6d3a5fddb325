//! What the next process syncs after a crash: directory entries, and writes whose sync failed.

use super::device::Device;
use super::scenario::Scenario;
use super::{Deed, Fault, read_log};
use crate::journals::{masked_event, masked_json, wait};
use crate::running::Start;
use kb::definition::SyncMode;
use kb::journal::{Batch, NewRun};
use kb::run::{Event, InstanceIx};
use kb::value::{RunId, Timestamp};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const DIRECTORY: &str = "KB_TEST_JOURNAL";

fn run() -> RunId {
    RunId::new("r").unwrap()
}

/// Not a test by itself: stores what is only ordered for as long as the disk lets it.
#[test]
#[ignore = "started by other tests"]
fn writer() {
    let directory = std::env::var(DIRECTORY).unwrap();
    let journal = kb::journal::open(Path::new(&directory), SyncMode::Normal).unwrap();
    let (at, frozen) = (Timestamp(1), masked_json(json!({})));
    let new = NewRun { run: run(), definition: "demo".into(), at, frozen };
    let epoch = journal.create(new).or_else(|_| journal.acquire(&run())).unwrap();
    let mut last = journal.events(&run(), 0).unwrap().len() as u64;
    let events = [masked_event(Event::Started { instance: InstanceIx(0), attempt: 1 })];
    // Some seconds; it is stopped within the first.
    while last < 50_000
        && let Ok(next) = wait(journal.append(&run(), epoch, Batch::after(last, at, &events)))
    {
        last = next;
    }
    // Without a goodbye, in which SQLite would look after its log.
    std::process::exit(0);
}

/// What a failed sync was to write is in the system's memory and never comes to the disk. Whoever
/// went on behind it in the same log would be lost with it.
#[test]
fn who_opens_a_journal_after_a_failed_sync_does_not_go_on_behind_what_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (disk, log, left) = (root.join("disk"), root.join("log"), root.join("left"));
    let write = |fate| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "disk::reopened::writer", "--ignored"]);
        command.env(DIRECTORY, disk.join("journal")).stdout(Stdio::null());
        let fault = Fault::below(&disk).thread("kb-sync").ops("sync").at(1, fate);
        fault.log(&log).on(&mut command);
        command.start()
    };
    write(Deed::Eio).wait().unwrap();
    // Somebody reads meanwhile, who would keep the log from beginning anew.
    let reader = rusqlite::Connection::open(disk.join("journal/journal.sqlite3")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM runs").unwrap();
    let mut next = write(Deed::KillAfter);
    // Time for it to write too early.
    std::thread::sleep(Duration::from_millis(200));
    drop(reader);
    next.wait().unwrap();
    let mut device = Device::new(&disk);
    read_log(&log).iter().for_each(|record| device.apply(record));
    device.cut_to_what_is_safe(&left);
    let journal = kb::journal::open(&left.join("journal"), SyncMode::Normal).unwrap();
    assert_eq!(journal.run(&run()).unwrap().epoch, 2);
    assert!(!journal.events(&run(), 0).unwrap().is_empty());
}

/// SQLite syncs the folder of a new log itself, and takes no notice where that fails.
#[test]
fn nothing_is_acknowledged_whose_name_cannot_be_made_safe() {
    let scenario = Scenario::of("[{id: a, run: echo x}]");
    let run = ["playbook", "run", "p"];
    scenario.kb(&run).code(0);
    let folder = scenario.journal().canonicalize().unwrap();
    let syncs = Fault::below(&scenario.state).ops("sync").file(&format!("{}$", folder.display()));
    let fails = syncs.at(1, Deed::Eio).and_ever_after();
    let said = scenario.kb_with(&run, |command| fails.on(command)).code(5);
    said.says(&["error[KB0801]", "cannot sync", "help:"]);
}
