//! `kb run verify`: the chain, the blobs, the verdicts.

use super::sample::{Sample, database, sample, state};
use crate::running::Start;
use kb::definition::SyncMode;
use kb::value::RunId;
use serde_json::{Value, json};

/// Changes the record of a finished run, and has it checked: the codes and texts of the faults. The
/// change is undone again.
fn check(sample: &Sample, change: impl FnOnce(&Sample), code: &str, text: &str) {
    let (folder, kept) = (state(&sample.scratch), tempfile::tempdir().unwrap());
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        let status =
            std::process::Command::new("cp").args(["-a"]).arg(from).arg(to).finish().status;
        assert!(status.success());
    };
    copy(&folder, &kept.path().join("state"));
    change(sample);
    let said = sample.scratch.kb(&["run", "verify", "@last", "--json"]).code(1);
    let audit: Value = serde_json::from_str(&said.out).unwrap();
    let first = &audit["faults"][0];
    let message = first["message"].as_str().unwrap();
    assert!(first["code"] == code && message.contains(text), "{code} {text}\n{audit:#}");
    assert_eq!(audit["holds"], false);
    std::fs::remove_dir_all(&folder).unwrap();
    copy(&kept.path().join("state"), &folder);
}

/// The same for the chain alone, as the journal tells it: the first place that does not hold.
fn check_chain(sample: &Sample, change: &str, text: &str) {
    let (folder, copy) = (state(&sample.scratch), tempfile::tempdir().unwrap());
    let file = copy.path().join("journal.sqlite3");
    std::fs::copy(folder.join("journal.sqlite3"), &file).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch(change).unwrap();
    let journal = kb::journal::open(copy.path(), SyncMode::Normal).unwrap();
    let breaks = journal.ledger(&RunId::new(&sample.run).unwrap()).unwrap().breaks();
    let first = breaks.first().map(ToString::to_string).unwrap_or_default();
    assert!(first.contains(text), "{change}\n{text}\n{breaks:?}");
}

fn sql(statements: &str) -> impl FnOnce(&Sample) {
    move |sample| sample.change(statements)
}

/// The number of the first event of a type, and of how many.
fn first(sample: &Sample, kind: &str) -> (i64, i64) {
    let database = database(&sample.scratch);
    let one = "SELECT min(position) & 0xffffffff FROM events WHERE type = ?1";
    let at = database.query_row(one, [kind], |row| row.get(0)).unwrap();
    (at, database.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap())
}

#[test]
fn a_run_that_nobody_touched_holds_without_its_workspace() {
    let sample = sample();
    let audit = sample.scratch.json(&["run", "verify", "@last", "--json"]);
    assert_eq!((&audit["holds"], &audit["faults"]), (&json!(true), &json!([])), "{audit:#}");
    assert_eq!(audit["head"], json!(sample.head()));
    // list, two items, work twice, the gate; the outputs of both items lie in blobs.
    assert_eq!((&audit["verdicts"], &audit["withoutBasis"]), (&json!(6), &json!(0)), "{audit:#}");
    // What both items hand out, their streams, the gathered outputs, the event of 200 changes.
    assert_eq!(audit["blobs"], json!(5), "{audit:#}");
    std::fs::remove_dir_all(sample.scratch.root().join("many")).unwrap();
    for file in ["made-one.txt", "made-two.txt", "notes.md"] {
        std::fs::remove_file(sample.scratch.root().join(file)).unwrap();
    }
    let said = sample.scratch.kb(&["run", "verify", &sample.run, "--head", &sample.head()]);
    said.code(0).says(&["verified", &sample.head(), "the given head is part of the chain"]);
    let other = "ab".repeat(32);
    let said = sample.scratch.kb(&["run", "verify", "@last", "--head", &other]).code(1);
    said.says(&[
        "KB0861",
        "no event of the run has the stored head",
        "`kb explain KB0861` shows the details",
    ]);
    for code in ["KB0861", "KB0862", "KB0863", "KB0864", "KB0865"] {
        sample.scratch.kb(&["explain", code]).code(0).says(&[code]);
    }
    sample.scratch.kb(&["run", "verify", "@last", "--head", "abc"]).code(2).says(&["64 hex"]);
    sample.scratch.kb(&["run", "verify", "zzz"]).code(4).says(&["there is no run `zzz`"]);
}

#[test]
fn the_head_is_the_same_live_and_later_and_goes_on_over_a_retry() {
    let sample = sample();
    let later = sample.scratch.kb(&["run", "events", "@last"]).code(0).events();
    assert_eq!(later, sample.events);
    let said = sample.scratch.kb(&["run", "retry", "@last", "--from", "last", "--json"]).code(0);
    let head = said.events().last().unwrap()["traceHead"].as_str().unwrap().to_owned();
    assert_ne!(head, sample.head());
    for head in [head, sample.head()] {
        sample.scratch.kb(&["run", "verify", "@last", "--head", &head]).code(0);
    }
}

#[test]
fn every_change_of_the_journal_is_noticed() {
    let sample = sample();
    let (judged, all) = first(&sample, "judged");
    let at = |seq: i64| format!("position & 0xffffffff = {seq}");
    let altered = format!("event {judged} is not what was recorded there");
    let here = at(judged);
    for change in [
        format!("UPDATE events SET body = replace(body, 'passed', 'failed') WHERE {here}"),
        format!("UPDATE events SET body = body || ' ' WHERE {here}"),
        format!("UPDATE events SET at = at + 1 WHERE {here}"),
        format!("UPDATE events SET epoch = 2 WHERE {here}"),
        format!("UPDATE events SET digest = zeroblob(32) WHERE {here}"),
    ] {
        check_chain(&sample, &change, &altered);
    }
    check(&sample, sql(&format!("UPDATE events SET at = at + 1 WHERE {here}")), "KB0861", &altered);
    let unlinked = format!("event {judged} has no link");
    for link in ["NULL", "zeroblob(31)", "'text'"] {
        let change = format!("UPDATE events SET digest = {link} WHERE {here}");
        match link {
            "'text'" => assert!(database(&sample.scratch).execute_batch(&change).is_err()),
            _ => check_chain(&sample, &change, &unlinked),
        }
    }
    let mislabelled = format!("UPDATE events SET type = 'evaluated' WHERE {here}");
    check_chain(&sample, &mislabelled, "is listed as one of another type");
    let gone = format!("event {judged} is missing");
    check_chain(&sample, &format!("DELETE FROM events WHERE {here}"), &gone);
    check_chain(&sample, "DELETE FROM events WHERE position & 0xff = 1", "event 1 is missing");

    // Two neighbours change places, with and without their links.
    for columns in ["body, type", "body, type, at, epoch, digest"] {
        let swap = format!(
            "CREATE TEMP TABLE two AS SELECT * FROM events WHERE {here} OR {};
             UPDATE events SET ({columns}) =
               (SELECT {columns} FROM two WHERE two.position != events.position)
             WHERE position IN (SELECT position FROM two)",
            at(judged + 1)
        );
        check_chain(&sample, &swap, &altered);
    }
    // One more in between: everything after it moves by one.
    let insert = format!(
        "UPDATE events SET position = -position - 1 WHERE position & 0xffffffff >= {judged};
         UPDATE events SET position = -position WHERE position < 0;
         INSERT INTO events SELECT position - 1, at, epoch, type, body, digest FROM events
           WHERE position & 0xffffffff = {};
         UPDATE runs SET last_seq = last_seq + 1",
        judged + 1
    );
    check_chain(&sample, &insert, &format!("event {} is not what was", judged + 1));
    let added = "INSERT INTO events SELECT max(position) + 1, at, epoch, type, body, digest
                 FROM events";
    check_chain(&sample, added, &format!("event {} is one more", all + 1));

    // The tail, and the tail with the row made to fit.
    let cut = format!("DELETE FROM events WHERE position & 0xffffffff > {judged}");
    let cut_off = format!("the events from {} on were cut off", judged + 1);
    check_chain(&sample, &cut, &cut_off);
    let fitting = format!("{cut}; UPDATE runs SET last_seq = {judged}, status = 'interrupted'");
    check_chain(&sample, &fitting, "the head that is kept for the run is not that");
    check_chain(&sample, "UPDATE runs SET head = zeroblob(32)", "the head that is kept");

    // What the run was started with is under the first link.
    let begun = "event 1, or what the run was started with";
    for change in [
        "UPDATE frozen SET body = replace(body, 'minCount: 2', 'minCount: 1')",
        "UPDATE runs SET definition = 'q'",
        "UPDATE runs SET started_at = started_at - 1",
        "UPDATE runs SET kb_version = '9'",
    ] {
        check_chain(&sample, change, begun);
    }
    // What no chain covers is held against the events.
    check(&sample, sql("UPDATE runs SET status = 'failed'"), "KB0865", "listed as failed");
    for change in ["ended_at = ended_at + 1", "ended_at = NULL"] {
        let change = format!("UPDATE runs SET {change}");
        check(&sample, sql(&change), "KB0865", "another end time");
    }
    check(&sample, sql("UPDATE runs SET epoch = 0"), "KB0865", "listed with epoch 0");
    let stripped = "UPDATE runs SET head = NULL; UPDATE events SET digest = NULL";
    check(&sample, sql(stripped), "KB0864", "has no hash chain");
}

#[test]
fn every_change_of_a_blob_is_noticed() {
    let sample = sample();
    let blobs = || {
        let folders = std::fs::read_dir(state(&sample.scratch).join("blobs")).unwrap();
        let folders = folders.map(|folder| folder.unwrap().path()).filter(|path| path.is_dir());
        folders
            .flat_map(|folder| std::fs::read_dir(folder).unwrap())
            .next()
            .unwrap()
            .unwrap()
            .path()
    };
    let broken = "KB0862";
    check(&sample, |_| std::fs::remove_file(blobs()).unwrap(), broken, "is missing (event ");
    check(&sample, |_| std::fs::write(blobs(), "other").unwrap(), broken, "is damaged");
    let one_bit = |_: &Sample| {
        let mut bytes = std::fs::read(blobs()).unwrap();
        bytes[7] ^= 1;
        std::fs::write(blobs(), bytes).unwrap();
    };
    check(&sample, one_bit, broken, "is damaged");
    let folder = |_: &Sample| {
        let path = blobs();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
    };
    check(&sample, folder, broken, "it is not a file");
}

/// Even with the chain computed anew, a verdict has to follow from what was observed.
#[test]
fn a_verdict_that_does_not_follow_from_its_observations_is_noticed() {
    let sample = sample();
    let last_of = |kind: &str| {
        format!("position = (SELECT max(position) FROM events WHERE body LIKE '{kind}%')")
    };
    let (judged, observed) = (last_of(r#"{"type":"judged""#), last_of(r#"%"record":"observed""#));
    let differs = "KB0863";
    let anew = |change: String| {
        move |sample: &Sample| {
            sample.change(&change);
            sample.chain_anew();
        }
    };
    let fails = "replace(body, '\"verdict\":\"passed\"', '\"verdict\":\"failed\"')";
    let change = format!("UPDATE events SET body = {fails} WHERE {judged}");
    check(&sample, anew(change), differs, "the verdict on `last` is recorded as failed, but the");
    let seen = r#"{"path":"made-one.txt","occurrences":null},"#;
    let change = format!("UPDATE events SET body = replace(body, '{seen}', '') WHERE {observed}");
    check(
        &sample,
        anew(change),
        differs,
        "the recorded observations give failed: `made-*.txt` matches 1",
    );
    let output = format!(
        "UPDATE events SET body = replace(body, '[\"one\",\"two\"]', '[\"one\"]') WHERE {}",
        "position = (SELECT min(position) FROM events WHERE type = 'attemptEnded')"
    );
    check(
        &sample,
        anew(output),
        differs,
        "the recorded output is not the one that the verdict was computed from",
    );
    let call =
        "UPDATE events SET type = 'draining', body = '{\"type\":\"draining\",\"reason\":\"\"}'
                WHERE body LIKE '%toolResult%fs:edit%'";
    check(
        &sample,
        anew(call.to_owned()),
        differs,
        "1 tool calls are recorded, but the verdict was computed from 2",
    );
    let frozen = "UPDATE frozen SET body = replace(body, 'minCount: 2', 'minCount: 1')";
    check(
        &sample,
        anew(frozen.to_owned()),
        "KB0865",
        "the stored definitions are not the ones that the run started with",
    );
    // A gate that could not look leaves no basis, and that of the attempt before is not its own.
    sample.change(
        "UPDATE events SET type = 'draining', body = '{\"type\":\"draining\",\"reason\":\"\"}'
         WHERE position = (SELECT position FROM events WHERE body LIKE '%\"record\":\"observed\"%'
                           ORDER BY position DESC LIMIT 1 OFFSET 1)",
    );
    sample.chain_anew();
    let audit = sample.scratch.json(&["run", "verify", "@last", "--json"]);
    assert_eq!((&audit["verdicts"], &audit["withoutBasis"]), (&json!(5), &json!(1)), "{audit:#}");
    // A chain that was computed anew is told by a head that was kept elsewhere.
    sample.change("UPDATE events SET at = at + 1; UPDATE runs SET ended_at = ended_at + 1");
    sample.chain_anew();
    sample.scratch.kb(&["run", "verify", "@last"]).code(0);
    let said = sample.scratch.kb(&["run", "verify", "@last", "--head", &sample.head()]).code(1);
    said.says(&["KB0861"]);
}

#[test]
fn a_run_whose_chain_was_removed_does_not_go_on() {
    let sample = sample();
    let change = "UPDATE runs SET head = NULL; UPDATE events SET digest = NULL;
                  DELETE FROM events WHERE type = 'runEnded';
                  UPDATE runs SET last_seq = last_seq - 1, status = 'running', ended_at = NULL";
    sample.change(change);
    sample.scratch.kb(&["run", "verify", "@last"]).code(1).says(&["KB0864", "no hash chain"]);
    let said = sample.scratch.kb(&["run", "resume", "@last"]);
    assert_ne!(said.code, 0, "{}{}", said.out, said.err);
    said.says(&["is not what was recorded"]);
}
