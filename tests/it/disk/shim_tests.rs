//! Tests of the preloaded library.

use super::shim::{stands_in_for, symbols};
use super::{Deed, Fault, Op, Record, read_log};
use crate::running::Start;
use crate::scratch::Scratch;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps:\n\
    - {id: big, run: \"head -c 20000 /dev/zero | tr '\\\\0' x\"}\n\
    - {id: seen, dependsOn: [big], run: 'env'}\n";

fn project() -> Scratch {
    Scratch::new(&[("playbooks/p.yml", PLAYBOOK)])
}

fn state(scratch: &Scratch) -> PathBuf {
    scratch.root().parent().unwrap().join("state")
}

fn log_of(
    scratch: &Scratch,
    change: impl FnOnce(Fault) -> Fault,
) -> (Vec<Record>, std::process::Output) {
    let path = scratch.root().parent().unwrap().join("log");
    let mut command = scratch.command();
    command.args(["playbook", "run", "p", "--json"]);
    change(Fault::below(&state(scratch)).log(&path)).on(&mut command);
    let output = command.finish();
    (read_log(&path), output)
}

/// Files by path with what is in them. The index of the WAL is shared memory, and rebuilt when needed.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if !path.to_string_lossy().ends_with("-shm") {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// What a log says that the files are.
fn replayed(records: &[Record]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    for record in records {
        match &record.op {
            Op::Create => drop(files.insert(record.path.clone(), Vec::new())),
            Op::Write { offset, bytes } => {
                let file = files.get_mut(&record.path).expect("a file is created before");
                let end = *offset as usize + bytes.len();
                file.resize(file.len().max(end), 0);
                file[*offset as usize..end].copy_from_slice(bytes);
            }
            Op::Truncate { length } => {
                files.get_mut(&record.path).unwrap().resize(*length as usize, 0)
            }
            Op::Rename { to } => {
                let file = files.remove(&record.path).unwrap();
                files.insert(to.clone(), file);
            }
            Op::Unlink => drop(files.remove(&record.path)),
            _ => {}
        }
    }
    files.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
    files
}

#[test]
fn a_log_says_everything_that_happened_to_the_files() {
    let scratch = project();
    let (records, output) = log_of(&scratch, |fault| fault);
    assert!(output.status.success(), "{output:?}");
    let (log, disk) = (replayed(&records), contents(&state(&scratch)));
    assert!(disk.values().any(|bytes| bytes.len() > 20_000), "a blob is among them");
    assert_eq!(log.keys().collect::<Vec<_>>(), disk.keys().collect::<Vec<_>>());
    for (path, bytes) in disk {
        assert!(log[&path] == bytes, "`{}` is as the log says", path.display());
    }
    let said = records.iter().any(|record| matches!(&record.op, Op::Said(_)));
    assert!(said && records.iter().any(|record| record.op == Op::Synced));
    let seen = scratch.kb(&["run", "output", "@last", "seen"]).code(0).out;
    assert!(
        seen.contains("PATH=") && !seen.contains("LD_PRELOAD"),
        "steps are not preloaded: {seen}"
    );
}

/// Each of these calls costs milliseconds on some disks, and the first run of a project waits for it.
#[test]
fn a_new_journal_and_its_leases_need_few_syncs_and_no_file_beside_the_database() {
    let scratch = project();
    let (records, output) = log_of(&scratch, |fault| fault);
    assert!(output.status.success(), "{output:?}");
    let name = |record: &Record| record.path.file_name().unwrap().to_string_lossy().into_owned();
    let named = |record: &Record| matches!(&record.op, Op::Rename { .. } if name(record) == ".new-journal.sqlite3");
    let named = records.iter().position(named).expect("the database gets its name by a rename");
    let created = &records[..named];
    let files = created.iter().filter(|record| name(record).starts_with(".new-journal"));
    assert!(files.clone().all(|record| name(record) == ".new-journal.sqlite3"), "{created:?}");
    assert_eq!(files.filter(|record| record.op == Op::Synced).count(), 1, "{created:?}");
    let last_write = created.iter().rposition(|record| matches!(record.op, Op::Write { .. }));
    let first_sync = created.iter().position(|record| record.op == Op::Sync);
    assert!(last_write < first_sync, "the content is complete before it is synced: {created:?}");
    let cut = |record: &&Record| {
        name(record).ends_with(".lock") && matches!(record.op, Op::Truncate { .. })
    };
    assert!(!records.iter().any(|record| cut(&record)), "a new lock file is empty");
}

/// A way of changing files that the library does not stand in for would make every figure here a lie.
#[test]
fn kb_changes_files_only_through_functions_that_are_watched() {
    let changing = [
        "write",
        "writev",
        "pwrite",
        "pwrite64",
        "pwritev",
        "pwritev64",
        "pwritev2",
        "truncate",
        "truncate64",
        "ftruncate",
        "ftruncate64",
        "fallocate",
        "fallocate64",
        "posix_fallocate",
        "posix_fallocate64",
        "rename",
        "renameat",
        "renameat2",
        "link",
        "linkat",
        "symlink",
        "unlink",
        "unlinkat",
        "mkdir",
        "mkdirat",
        "rmdir",
        "open",
        "open64",
        "openat",
        "openat64",
        "creat",
        "creat64",
        "copy_file_range",
        "sendfile",
        "sendfile64",
        "splice",
        "msync",
        "fsync",
        "fdatasync",
        "sync_file_range",
        "syncfs",
        "sync",
        "aio_write",
        "fopen",
        "fopen64",
        "fwrite",
        "mkstemp",
    ];
    let watched = stands_in_for();
    let used = symbols(Path::new(env!("CARGO_BIN_EXE_kb")), "--undefined-only");
    assert!(used.contains(&"pwrite64".to_owned()), "SQLite calls through libc");
    // tree-sitter, which only the crate `code` uses, draws its trees with it on request.
    let drawing = "fwrite";
    let code = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/code/src");
    for file in code.read_dir().unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("dot_graph"), "a tree is drawn");
    }
    let unseen: Vec<&String> = used
        .iter()
        .filter(|name| changing.contains(&name.as_str()) && !watched.contains(name))
        .filter(|name| name.as_str() != drawing)
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

#[test]
fn a_process_is_killed_at_the_call_that_is_named() {
    let scratch = project();
    let (all, _) = log_of(&scratch, |fault| fault);
    let renames = all.iter().filter(|r| matches!(r.op, Op::Rename { .. })).count();
    assert!(renames >= 1, "the blob comes by a rename");
    for (deed, done) in [(Deed::KillBefore, renames - 1), (Deed::KillAfter, renames)] {
        let scratch = project();
        let (records, output) = log_of(&scratch, |fault| fault.ops("rename").at(renames, deed));
        assert_eq!(output.status.signal(), Some(9), "{output:?}");
        assert_eq!(records.iter().filter(|r| matches!(r.op, Op::Rename { .. })).count(), done);
        scratch.kb(&["run", "resume", "@last"]).code(0);
    }
}

#[test]
fn a_named_call_fails_as_requested() {
    for (deed, says) in [(Deed::Eio, "KB0801"), (Deed::Enospc, "KB0802"), (Deed::Short, "KB0802")] {
        let scratch = project();
        let fails = |fault: Fault| fault.ops("write").file("/blobs/").at(1, deed);
        let (_, output) = log_of(&scratch, fails);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{said}");
        assert!(said.contains(says), "{said}");
        scratch.kb(&["run", "resume", "@last"]).code(0);
    }
}
