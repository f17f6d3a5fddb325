//! System calls that fail with an I/O error or for lack of space, at every read and write of a run.

use super::device::{Device, Dice};
use super::power_cut::{acknowledged, opens};
use super::scenario::{End, Scenario, integrity, succeeded};
use super::{Deed, Fault, Op, Record, read_log};
use crate::proof;
use crate::scratch::Said;
use kb::value::JsonMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What a fault is held to, whatever it was: an error that says what and how to mend it, nothing
/// acknowledged that is not stored, and a run that comes to the same end without doing anything twice.
#[track_caller]
pub(super) fn holds(
    scenario: &Scenario,
    said: &Said,
    reference: &End,
    codes: &[&str],
    readable: bool,
) {
    let at = format!("{}\n{}", said.err, said.out);
    if said.code != 0 {
        assert_eq!(said.code, 5, "{at}");
        assert!(codes.iter().any(|code| said.err.contains(&format!("error[{code}]"))), "{at}");
        assert!(said.err.contains("help:"), "{at}");
    }
    let stored = scenario.kb(&["run", "events", "@last"]);
    if readable {
        assert!([0, 4].contains(&stored.code), "{stored:?} after {at}");
    }
    let known: Vec<JsonMap> = stored.out.lines().map(line_of).collect();
    for line in said.out.lines().filter(|_| stored.code == 0) {
        // What a blob says in a line is missing in it where the blob could not be read.
        let told = line_of(line);
        let is_told_by = |known: &JsonMap| told.iter().all(|(key, it)| known.get(key) == Some(it));
        assert!(known.iter().any(is_told_by), "was said and is not stored: {line}\n{at}");
    }
    assert!(stored.code == 0 || said.out.is_empty(), "{stored:?} after {at}");
    assert!(said.code != 0 || said.out.contains("\"run:end\""), "{at}");
    let done = succeeded(&stored.out);
    let before = scenario.ledger();
    let end = scenario.finish();
    assert_eq!(integrity(&scenario.journal()), "ok", "{at}");
    assert_eq!(&end, reference, "{at}");
    for (step, count) in scenario.ledger() {
        let earlier = before.get(&step).copied().unwrap_or(0);
        let allowed = if done.contains(&step) { earlier } else { earlier + 1 };
        assert!(count <= allowed && count <= 2, "{step} began {count} times\n{at}");
    }
}

fn line_of(text: &str) -> JsonMap {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A scenario, what its run comes to, and how many calls of these kinds it makes.
fn reference(ops: &str) -> (Scenario, End, usize) {
    let scenario = Scenario::new();
    let log = scenario.state.with_extension("log");
    let fault = Fault::below(&scenario.state).ops(ops).log(&log);
    scenario.kb_with(&Scenario::RUN, |command| fault.on(command)).code(0);
    let count = read_log(&log).iter().filter(|record| is_counted(record, ops)).count();
    let end = scenario.end();
    (scenario, end, count)
}

fn is_counted(record: &Record, ops: &str) -> bool {
    let name = match record.op {
        Op::Write { .. } => "write",
        Op::Truncate { .. } => "truncate",
        Op::Create | Op::Link => "create",
        Op::MakeDirectory => "mkdir",
        Op::RemoveDirectory | Op::Unlink => "unlink",
        Op::Rename { .. } => "rename",
        Op::Sync => "sync",
        Op::Synced | Op::Unsynced | Op::Said(_) => return false,
    };
    ops.split(',').any(|op| op == name)
}

/// Runs it with a fault; whether that stopped the run.
fn fails_with(scenario: &Scenario, end: &End, fault: &Fault, codes: &[&str]) -> bool {
    scenario.forget();
    let log = scenario.state.with_extension("log");
    let _ = std::fs::remove_file(&log);
    let fault = fault.clone().log(&log);
    let said = scenario.kb_with(&Scenario::RUN, |command| fault.on(command));
    let records = read_log(&log);
    // Whatever failed, what was acknowledged was safe at that moment.
    let spoke = |record: &Record| matches!(record.op, Op::Said(_));
    let until = records.iter().rposition(spoke).map_or(0, |last| last + 1);
    let mut device = Device::new(&scenario.state.canonicalize().unwrap());
    records[..until].iter().for_each(|record| device.apply(record));
    let acknowledged = acknowledged(&records[..until], 0);
    opens(&device, &acknowledged, &mut Dice(1), false, &scenario.state.with_extension("cut"));
    holds(scenario, &said, end, codes, true);
    said.code != 0
}

/// Tries each point, all of them, and says which did not hold; how often the answer was yes.
#[track_caller]
pub(super) fn at_each(points: &[usize], mut holds: impl FnMut(usize) -> bool) -> usize {
    let (mut yes, mut broken) = (0, Vec::new());
    for n in points {
        match catch_unwind(AssertUnwindSafe(|| holds(*n))) {
            Ok(answer) => yes += usize::from(answer),
            Err(_) => broken.push(*n),
        }
    }
    let (count, all) = (broken.len(), points.len());
    assert!(broken.is_empty(), "{count} of {all} points do not hold: {broken:?}");
    yes
}

/// Points spread over a range, each in the middle of its part.
pub(super) fn spread(count: usize, amount: usize) -> Vec<usize> {
    let amount = amount.min(count);
    (0..amount).map(|n| 1 + (2 * n + 1) * count / (2 * amount)).map(|n| n.min(count)).collect()
}

const WRITES: &str = "write,truncate,create,mkdir,rename,unlink";

#[test]
fn an_io_error_at_any_write_is_reported_and_the_run_can_be_resumed() {
    let (scenario, end, count) = reference(WRITES);
    let points = spread(count, proof::amount("KB_EIO", 2, 300));
    let stopped = at_each(&points, |n| {
        let fault = Fault::below(&scenario.state).ops(WRITES).at(n, Deed::Eio);
        fails_with(&scenario, &end, &fault, &["KB0801"])
    });
    let figures = [("points", points.len()), ("runs stopped and gone on with", stopped)];
    proof::record("broken disk: each write", None, figures);
}

/// A sync that failed is never asked again and believed: the pages may be marked as clean, and be gone.
#[test]
fn after_a_sync_that_failed_nothing_more_is_acknowledged() {
    let (scenario, end, count) = reference("sync");
    let points = spread(count, proof::amount("KB_EIO", 2, count));
    let stopped = at_each(&points, |n| {
        let fault = Fault::below(&scenario.state).ops("sync").at(n, Deed::Eio);
        fails_with(&scenario, &end, &fault, &["KB0801"])
    });
    // Few of them are the background's, for which nobody waits: the first of those.
    let background = Fault::below(&scenario.state).thread("kb-sync").ops("sync").at(1, Deed::Eio);
    assert!(fails_with(&scenario, &end, &background, &["KB0801"]), "it stops the run");
    let figures = [("points", 1 + points.len()), ("runs stopped and gone on with", 1 + stopped)];
    proof::record("broken disk: each sync", None, figures);
}

/// The WAL is brought into the database when it has grown. Where that sync fails, the next one could
/// say that all is well while the pages are gone, and the WAL would begin anew over what they held.
#[test]
fn after_a_checkpoint_that_failed_nothing_more_is_stored() {
    let scenario = Scenario::new();
    let text = "schema: kb.playbook/1\nid: long\nparams: [{name: notes, type: list}, {name: text}]\nsteps:\n  \
                - {id: all, forEach: '{{notes}}', set: {note: '{{item}} {{text}}'}}\n  - {id: last, dependsOn: [all], run: echo end}\n";
    scenario.scratch.write("playbooks/long.yml", text);
    let run = |notes: usize| {
        let notes: String = (0..notes).map(|n| format!("  - {n}\n")).collect();
        let params = format!("notes:\n{notes}text: {}\n", "n".repeat(7_500));
        scenario.scratch.write("notes.yml", &params);
        ["playbook", "run", "long", "--params", "notes.yml"]
    };
    scenario.kb(&run(1)).code(0);
    // The database is there, so the first sync of it is the one after four megabytes.
    let syncs = Fault::below(&scenario.state).ops("sync").file("/journal.sqlite3$");
    let fails = syncs.at(1, Deed::Eio);
    let said = scenario.kb_with(&run(600), |command| fails.on(command)).code(5);
    said.says(&["error[KB0801]", "help:"]);
    scenario.kb(&["run", "resume", "@last"]).code(0);
    assert_eq!(integrity(&scenario.journal()), "ok");
}

#[test]
fn an_io_error_at_any_read_is_reported_and_the_run_can_be_resumed() {
    let (scenario, end, _) = reference("sync");
    // How often a run reads is not in the log: points beyond the last do nothing.
    let points = spread(50, proof::amount("KB_EIO", 1, 50));
    let stopped = at_each(&points, |n| {
        let fault = Fault::below(&scenario.state).ops("read").at(n, Deed::Eio);
        fails_with(&scenario, &end, &fault, &["KB0801"])
    });
    let figures = [("points", points.len()), ("runs stopped and gone on with", stopped)];
    proof::record("broken disk: each read", None, figures);
}

/// Nothing is wrong with a step whose values the disk keeps to itself now: no verdict on it is stored,
/// and the run goes on later.
#[test]
fn a_blob_that_cannot_be_read_or_written_now_is_no_failure_of_its_step() {
    let steps = "[{id: big, run: seq 3000}, {id: copy, set: {text: '{{big.output}}'}}]";
    // The first step leaves two blobs; the third is what the second step makes of them.
    for (op, n, deed, code) in [
        ("read", 1, Deed::Eio, "KB0801"),
        ("rename", 3, Deed::Eio, "KB0801"),
        ("rename", 3, Deed::Enospc, "KB0802"),
    ] {
        let scenario = Scenario::of(steps);
        let fault = Fault::below(&scenario.state).ops(op).file("/blobs/").at(n, deed);
        let said = scenario.kb_with(&["playbook", "run", "p"], |command| fault.on(command));
        said.code(5).says(&[&format!("error[{code}]"), "help:"]);
        let stored = scenario.kb(&["run", "events", "@last"]).code(0).out;
        assert!(!stored.contains("failed"), "{stored}");
        scenario.kb(&["run", "resume", "@last"]).code(0);
    }
}

/// No later attempt could read it either, and it is no undefined value, for which there are fallbacks.
#[test]
fn a_blob_that_is_gone_or_damaged_fails_each_step_that_needs_it() {
    let steps = "
  - {id: big, run: seq 3000}
  - {id: open, dependsOn: [big], run: test -e open}
  - {id: values, dependsOn: [open], set: {text: '{{big.output | default(1)}}'}}
  - {id: asked, dependsOn: [open], condition: 'big.output is not defined', run: echo x}
  - {id: list, dependsOn: [open], forEach: '{{big.output | default([1])}}', run: echo x}
  - {id: keys, dependsOn: [open], forEach: {in: [1], key: '{{big.output | default(1)}}'}, run: echo x}
  - {id: input, dependsOn: [open], tool: fs:write, input: {path: x, content: '{{big.output | default(1)}}'}}
  - {id: judged, dependsOn: [open], gate: [{expr: 'big.output is not defined'}]}
outputs: {text: '{{big.output | default(1)}}'}";
    for (other, says) in [(None, "is missing"), (Some("other"), "is damaged")] {
        let scenario = Scenario::of(steps);
        scenario.kb(&["playbook", "run", "p"]).code(1).says(&["failed open"]);
        let folders = std::fs::read_dir(scenario.journal().join("blobs")).unwrap();
        for blob in folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap()) {
            let blob = blob.unwrap().path();
            match other {
                Some(text) => std::fs::write(blob, text).unwrap(),
                None => std::fs::remove_file(blob).unwrap(),
            }
        }
        scenario.scratch.write("open", "");
        let said = scenario.kb(&["run", "retry", "@last"]).code(1);
        for begin in [
            "failed values: ",
            "failed asked: ",
            "failed list: ",
            "failed keys: ",
            "failed input: ",
            "verdicts  judged inconclusive (",
        ] {
            let says = |line: &str| line.starts_with(begin) && line.contains(says);
            assert!(said.out.lines().any(says), "{begin}\n{said:?}");
        }
        let outputs = scenario.kb(&["run", "output", "@last", "--json"]);
        assert_eq!(outputs.out, "", "none could be had");
    }
}

/// SQLite knows one cause for want of room, and calls the others failures of the disk.
#[test]
fn a_full_disk_is_distinguished_from_a_broken_one() {
    let run = |change: &dyn Fn(Fault, &Path) -> Fault| {
        let scenario = Scenario::of("[{id: a, run: echo x}]");
        let log = scenario.state.with_extension("log");
        let fault = change(Fault::below(&scenario.state).ops("write"), &log);
        let said = scenario.kb_with(&["playbook", "run", "p"], |command| fault.on(command));
        (said, read_log(&log))
    };
    let (_, records) = run(&|fault, log| fault.log(log));
    let mut writes = records.iter().filter(|record| is_counted(record, "write"));
    let first = 1 + writes.position(|write| write.path.ends_with("journal.sqlite3-wal")).unwrap();
    for (deed, code, help) in [
        (Deed::Enospc, "KB0802", "free disk space"),
        (Deed::Edquot, "KB0802", "free disk space"),
        (Deed::Efbig, "KB0802", "free disk space"),
        (Deed::Eio, "KB0801", "check the disk"),
    ] {
        let (said, _) = run(&|fault, _| fault.at(first, deed).and_ever_after());
        let said = said.code(5).says(&[&format!("error[{code}]"), help]);
        assert_eq!(said.err.contains("is full"), code == "KB0802", "{said:?}");
    }
}

/// The second way to a full disk, exact to the call: from there on nothing has room.
#[test]
fn a_full_disk_from_any_write_is_reported_and_the_run_can_be_resumed() {
    let (scenario, end, count) = reference("write,create,mkdir");
    let deeds = [Deed::Enospc, Deed::Short, Deed::Edquot, Deed::Efbig];
    let amount = proof::amount("KB_ENOSPC", 2, 300);
    let points = spread(count, amount);
    let stopped = at_each(&points, |n| {
        let growing = "write,create,mkdir";
        let fault = Fault::below(&scenario.state).ops(growing).at(n, deeds[n % 4]).and_ever_after();
        fails_with(&scenario, &end, &fault, &["KB0802"])
    });
    let figures = [("points", points.len()), ("runs stopped and gone on with", stopped)];
    proof::record("full disk: each write by ENOSPC, EDQUOT, EFBIG and half a write", None, figures);
}
