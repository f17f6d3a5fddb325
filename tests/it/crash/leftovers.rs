//! Files that killed writers leave behind.

use super::orphans;
use crate::journals::{masked_json, masked_text, wait};
use crate::scratch::Scratch;
use kb::journal::{Journal, NewRun};
use kb::value::{Digest, Json, RunId, Timestamp};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::Path;

fn journal(folder: &Path) -> std::sync::Arc<dyn Journal> {
    kb::journal::open(folder, Default::default()).unwrap()
}

fn unfinished(folder: &Path) -> Vec<String> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let names = orphans::files(folder).into_iter().map(|path| name(&path));
    names.filter(|name| name.starts_with(".new-")).collect()
}

/// In a container that starts again everything has the process ids that it had before.
#[test]
fn a_blob_is_written_although_a_killed_writer_of_the_same_id_has_left_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let digest = Digest::of("blob").to_string();
    let place = folder.path().join("blobs").join(&digest[..2]);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join(format!(".new-{}-0", std::process::id())), "bl").unwrap();
    let journal = journal(folder.path());
    let stored = journal.put_blob(&masked_text("blob")).unwrap();
    assert_eq!(journal.blob(&stored).unwrap(), b"blob");
}

#[test]
fn who_takes_a_run_over_removes_half_blobs_of_the_dead_and_not_of_the_living() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunId::new("r1").unwrap();
    let new = NewRun {
        run: run.clone(),
        definition: "d".into(),
        at: Timestamp(0),
        frozen: masked_json(Json::Null),
    };
    let first = journal(folder.path());
    let epoch = first.create(new).unwrap();
    wait(first.release(&run, epoch));
    let place = folder.path().join("blobs/ab");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join(".new-1-1"), "half").unwrap();
    let living = File::create(place.join(".new-2-2")).unwrap();
    flock(&living, FlockOperation::LockExclusive).unwrap();
    journal(folder.path()).acquire(&run).unwrap();
    assert_eq!(unfinished(folder.path()), [".new-2-2"]);
}

/// The change to SQLite's log is itself a transaction; a kill in it leaves a journal to roll back,
/// which who only reads may not.
#[test]
fn a_journal_whose_making_was_killed_is_made_by_the_next() {
    let scratch = Scratch::new(&[(
        "playbooks/p.yml",
        "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: echo x}]\n",
    )]);
    scratch.kb(&["run", "list"]).code(0);
    let folder = scratch.root().parent().unwrap().to_owned();
    let all = orphans::files(&folder.join("state"));
    let Some(database) = all.into_iter().find(|path| path.ends_with("journal.sqlite3")) else {
        panic!("`kb run list` makes the journal")
    };
    for left in ["", "-journal", "-wal"] {
        let state = database.parent().unwrap();
        for name in ["journal.sqlite3", "journal.sqlite3-wal", "journal.sqlite3-shm"] {
            let _ = std::fs::remove_file(state.join(name));
        }
        std::fs::write(state.join(format!(".new-journal.sqlite3{left}")), "torn").unwrap();
        scratch.kb(&["playbook", "run", "p"]).code(0);
        assert_eq!(unfinished(state), Vec::<String>::new());
    }
}
