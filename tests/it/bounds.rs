//! Every stored event has a bounded size, whatever a model or tool returns, and loses nothing.

use crate::journals::{masked_event, masked_json, wait};
use crate::running::Start;
use crate::scratch::Scratch;
use kb::definition::SyncMode;
use kb::diagnostic::Code;
use kb::evidence::{
    CallRequest, Change, CheckDetail, Confidence, FileKind, FileState, Invocation,
    InvocationStatus, Note, Payload, Purpose, Record, Verdict, Verification,
};
use kb::journal::{Batch, Journal, NewRun, StoredEvent};
use kb::run::{Event, InstanceIx, StepStatus};
use kb::value::{Digest, Failure, Json, OutcomeKind, RunId, Timestamp, Usage, limits};
use proptest::prelude::*;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const IX: InstanceIx = InstanceIx(0);

fn recorded(record: Record) -> Event {
    Event::Recorded { instance: IX, attempt: 1, record: Box::new(record) }
}

fn deep(levels: usize) -> Json {
    (0..levels).fold(
        json!("bottom"),
        |inner, i| if i % 2 == 0 { json!([inner]) } else { json!({"k": inner}) },
    )
}

fn change(n: usize, name: &str) -> Change {
    let state = FileState {
        kind: FileKind::File,
        size: n as u64,
        mtime_ns: 1,
        ctime_ns: 0,
        inode: 2,
        mode: 0o644,
        sha256: Some(Digest::of(name)),
    };
    Change::new(format!("{name}-{n}"), None, Some(state))
}

fn invocation(args: Json, changes: Vec<Change>) -> Invocation {
    Invocation {
        output: None,
        id: "c".into(),
        tool: "shell:exec".into(),
        args_hash: Digest::of_json(&args),
        args,
        at: Timestamp(1),
        duration_ms: 1,
        purpose: Purpose::Execution,
        status: InvocationStatus::Success,
        changes,
        evidence: Vec::new(),
        process: None,
        bytes: 1,
    }
}

fn failure(partial: Json) -> Failure {
    Failure::new(Code::SUBMITTED_OUTPUT_INVALID, "the output does not fit")
        .details(json!({"partial": partial}))
}

/// An event that a hostile model, tool or workspace could have caused, with that value and count.
fn hostile(kind: usize, value: &Json, text: &str, count: usize) -> Event {
    let usage = Usage { prompt_tokens: 7, cost_usd: None, ..Usage::NONE };
    match kind % 9 {
        0 => {
            let call = CallRequest { id: text.into(), tool: text.into(), args: value.clone() };
            recorded(Record::ModelCall {
                reasoning: None,
                turn: 1,
                model: "m".into(),
                tier: None,
                request: Digest::of("r"),
                digests: None,
                prompt: None,
                usage,
                text: Payload::inline(json!(text)),
                calls: vec![call; 2],
                cut_short: false,
            })
        }
        1 => {
            let changes = (0..count).map(|n| change(n, text)).collect();
            let result = Payload::inline(json!(null));
            recorded(Record::ToolResult {
                turn: 1,
                invocation: invocation(value.clone(), changes),
                result,
            })
        }
        2 => Event::AttemptEnded {
            instance: IX,
            attempt: 1,
            outcome: OutcomeKind::ValidationFailed,
            output: None,
            streams: None,
            failure: Some(failure(value.clone())),
            usage,
            handoff: None,
        },
        3 => {
            let check = CheckDetail {
                check: text.into(),
                verdict: Verdict::Failed,
                warning: false,
                reason: Some(text.into()),
                evidence: Some(value.clone()),
            };
            let verification = Verification::of(Confidence::High, vec![check; count % 100 + 1]);
            Event::Judged { instance: IX, attempt: 1, verification }
        }
        4 => Event::Expanded {
            instance: IX,
            first: InstanceIx(1),
            keys: (0..count).map(|n| format!("{text}{n}")).collect(),
            items: Payload::inline(value.clone()),
            keyed: true,
        },
        5 => Event::RunStarted {
            definition: "p".into(),
            digest: Digest::of("d"),
            params: value.clone(),
            environment: json!({}),
        },
        6 => recorded(Record::Note(Note::info(text.repeat(count.min(100))))),
        7 => Event::Ended {
            instance: IX,
            status: StepStatus::Failed,
            tolerated: false,
            output: Some(Payload::inline(value.clone())),
            failure: Some(failure(json!(text))),
        },
        _ => recorded(Record::Compression {
            keeps: vec![],
            turn: 1,
            covers: 2,
            summary: text.repeat(count.min(1_000)),
            usage,
        }),
    }
}

fn open(folder: &Path) -> std::sync::Arc<dyn Journal> {
    kb::journal::open(folder, SyncMode::Normal).unwrap()
}

fn id() -> RunId {
    RunId::new("r-1").unwrap()
}

/// The length of the longest row of events.
fn longest_row(folder: &Path) -> usize {
    let database = rusqlite::Connection::open(folder.join("journal.sqlite3")).unwrap();
    let query = "SELECT max(length(CAST(body AS BLOB))) FROM events";
    database.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap() as usize
}

/// Stored, no row is over the bound, and read back by another process nothing differs.
/// Gives the length of the longest row.
fn check(events: &[Event]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let new = NewRun {
        run: id(),
        definition: "p".into(),
        at: Timestamp(1),
        frozen: masked_json(json!({})),
    };
    let epoch = journal.create(new).unwrap();
    let masked_events: Vec<_> = events.iter().cloned().map(masked_event).collect();
    wait(journal.append(&id(), epoch, Batch::after(0, Timestamp(2), &masked_events))).unwrap();
    drop(journal);
    let longest = longest_row(folder.path());
    assert!(longest <= limits::EVENT_BYTES, "{longest}");
    let stored: Vec<StoredEvent> = open(folder.path()).events(&id(), 0).unwrap();
    assert_eq!(stored.len(), events.len());
    // No `assert_eq`: what would be printed is megabytes.
    assert!(stored.iter().zip(events).all(|(stored, event)| *stored.event == *event));
    longest
}

fn value() -> impl Strategy<Value = Json> {
    prop_oneof![
        any::<bool>().prop_map(Json::from),
        (0_usize..200_000).prop_map(|n| json!("x".repeat(n))),
        (0_usize..127).prop_map(deep),
        (0_usize..1_500).prop_map(|n| (0..n).map(|i| json!({"i": i, "\"q\"": "«\\\n»"})).collect()),
        (0_usize..2_000).prop_map(|n| {
            Json::Object((0..n).map(|i| (format!("key {i}"), json!(i))).collect())
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_row_is_larger_than_the_bound_and_nothing_is_lost(
        events in prop::collection::vec(
            (0_usize..9, value(), ".{0,40}", 0_usize..400)
                .prop_map(|(kind, value, text, count)| hostile(kind, &value, &text, count)),
            1..6,
        ),
    ) {
        check(&events);
    }
}

#[test]
fn the_largest_that_is_let_in_is_bounded_too() {
    let count = crate::proof::amount("KB_CHANGED_FILES", 20_000, 100_000);
    let mebibyte = json!({"content": "y".repeat(1 << 20)});
    let all: Vec<Event> = (0..9)
        .map(|kind| hostile(kind, &mebibyte, "name", count))
        .chain([hostile(1, &deep(126), "", 1)])
        .collect();
    let longest = check(&all);
    let figures = [("changed files", count), ("longest row (bytes)", longest)];
    crate::proof::record("bounded events", None, figures);
}

#[test]
fn a_row_at_the_bound_stays_and_one_byte_more_does_not() {
    for (more, blobs) in [(0, 0), (1, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let journal = open(folder.path());
        let new = NewRun {
            run: id(),
            definition: "p".into(),
            at: Timestamp(1),
            frozen: masked_json(json!({})),
        };
        let epoch = journal.create(new).unwrap();
        let empty = serde_json::to_string(&Event::Draining { reason: String::new() }).unwrap();
        let reason = "x".repeat(limits::EVENT_BYTES - empty.len() + more);
        let event = [masked_event(Event::Draining { reason })];
        wait(journal.append(&id(), epoch, Batch::after(0, Timestamp(2), &event))).unwrap();
        assert_eq!(files(&folder.path().join("blobs")).len(), blobs);
        assert_eq!(journal.events(&id(), 0).unwrap()[0].event, event[0]);
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_missing_or_damaged_blob_of_an_event_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let new = NewRun {
        run: id(),
        definition: "p".into(),
        at: Timestamp(1),
        frozen: masked_json(json!({})),
    };
    let epoch = journal.create(new).unwrap();
    let event = [masked_event(hostile(6, &json!(null), &"z".repeat(9_000), 50))];
    wait(journal.append(&id(), epoch, Batch::after(0, Timestamp(2), &event))).unwrap();
    let blob = files(&folder.path().join("blobs")).remove(0);
    let text = std::fs::read(&blob).unwrap();
    std::fs::write(&blob, [&text[..9], b"!", &text[10..]].concat()).unwrap();
    let check = |expected: &str| match journal.events(&id(), 0) {
        Err(error) => assert!(error.to_string().contains(expected), "{error}"),
        Ok(events) => panic!("{} events", events.len()),
    };
    check("is damaged");
    std::fs::remove_file(&blob).unwrap();
    check("is missing");
}

// --- Through the binary

/// Where the state of the only project of a scratch folder is.
fn state(scratch: &Scratch) -> PathBuf {
    let all = scratch.root().parent().unwrap().join("state");
    let journal = files(&all).into_iter().find(|path| path.ends_with("journal.sqlite3")).unwrap();
    journal.parent().unwrap().to_owned()
}

/// A specialist with huge arguments, a shell that changes many files, an output that never fits.
fn monstrous() -> Scratch {
    let content = "0123456789abcdef".repeat(20 << 10);
    let script = json!({"schema": "kb.script/1", "steps": {"a": [
        {"calls": [
            {"tool": "fs:write", "args": {"path": "big.txt", "content": content}},
            {"tool": "fs:write", "args": {"path": "none", "content": "x", "deep": deep(20)}},
        ]},
        {"delayMs": 2500, "output": {"summary": 1, "more": content}},
        {"output": {"summary": "done"}},
    ]}});
    Scratch::new(&[
        ("playbooks/p.yml", "schema: kb.playbook/1\nid: p\nsteps:
  - {id: many, evidence: full, run: 'mkdir m; cd m; for i in {1..1500}; do : > \"file-number-$i\"; done'}
  - {id: a, dependsOn: [many], specialist: writer, task: Go., verify: {claims: none, expectChanges: false}}
outputs: {said: '{{a.output.summary}}'}
"),
        (".kb/specialists/writer.yml", "schema: kb.specialist/1\nid: writer\nrole: You write.\ntools: [fs:write]\noutput: {schema: {summary: string}}\n"),
        ("script.yml", &script.to_string()),
    ])
}

#[test]
fn a_run_with_huge_arguments_goes_on_after_kill_9_and_is_bounded() {
    let scratch = monstrous();
    let base = ["playbook", "run", "p", "--script", "script.yml", "--json"];
    let mut child =
        scratch.command().args(base).stdout(Stdio::piped()).stderr(Stdio::null()).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let seen = lines.by_ref().filter(|line| line.contains("\"tool:result\"")).nth(2);
    assert!(seen.is_some(), "both calls end, after the record of the shell");
    child.kill().unwrap();
    child.wait().unwrap();
    scratch.kb(&["run", "resume", "@last"]).code(0);
    assert_eq!(scratch.read("big.txt").len(), 320 << 10);
    let longest = longest_row(&state(&scratch));
    assert!(longest <= limits::EVENT_BYTES, "{longest}");
    // The same conversation as that of a run which nobody killed.
    let said = |scratch: &Scratch| {
        let events = scratch.kb(&["run", "events", "@last"]).code(0).events();
        let of = |event: &Json| {
            let kind = event["type"].as_str().unwrap();
            let keys = ["turn", "tool", "status", "argsHash", "bytes", "calls", "changes"];
            (kind.to_owned(), keys.map(|key| event[key].clone()))
        };
        let wanted = ["model:call", "tool:call", "tool:result"];
        let all: Vec<_> =
            events.iter().map(of).filter(|(kind, _)| wanted.contains(&&**kind)).collect();
        all
    };
    let whole = monstrous();
    whole.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(0);
    let (resumed, uninterrupted) = (said(&scratch), said(&whole));
    assert!(resumed == uninterrupted, "{} and {} events", resumed.len(), uninterrupted.len());
    scratch.kb(&["run", "logs", "@last"]).code(0);
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["succeeded"]);
}
