//! A real SIGKILL at changes of files while a run has child runs, loops, questions, approvals that send work back,
//! waits, locks, concurrency groups, stored results and files of its own.
//!
//! The first owner dies, and one of those that continue or answer too.

use super::orphans;
use crate::disk::{Deed, Fault, Op, read_log};
use crate::proof;
use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A run that needs more commands than this never ends.
const COMMANDS: usize = 40;

const PLAYBOOK: &str = r#"schema: kb.playbook/1
id: p
concurrency: all
limits: {maxParallel: 3}
steps:
  - {id: call, playbook: child, with: {word: one}, locks: [db]}
  - id: each
    forEach: {in: [a, b], as: n, key: "{{n}}"}
    playbook: child
    with: {word: "{{n}}"}
  - id: pass
    run: echo "$PASS" > "out/pass-$PASS"; echo "$PASS"
    parse: json
    env: {PASS: "{{loop.iteration}}"}
    loop: {until: "{{pass.output == 3}}", max: 5}
    verify: {checks: [{file: "out/pass-*"}]}
  - {id: held, locks: [db, net], run: echo held > out/held}
  - {id: pause, wait: 30ms}
  - {id: built, run: cat in.txt > out/built; echo built, cache: {inputs: in.txt, outputs: out/built}}
  - {id: own, dependsOn: [built, held, pass, call, each], workspace: copy, run: echo own > out/own}
  - {id: where, dependsOn: [pause], ask: {question: "Where?", options: [here, there]}}
  - id: draft
    run: echo "$WHY" > out/draft; echo "$WHY"
    env: {WHY: "{{run.rejection.comment | default('first')}}"}
  - {id: ok, dependsOn: [draft, own, where], approve: {message: "Publish {{draft.output}}?", onReject: {retry: draft, max: 1}}}
  - {id: last, dependsOn: [ok], run: 'echo "$BY $WHERE" > out/last', env: {BY: "{{draft.output}}", WHERE: "{{where.output}}"}}
outputs:
  call: "{{call.output}}"
  each: "{{each.byKey}}"
  pass: "{{pass.output}}"
  built: "{{built.output}}"
"#;

const CHILD: &str = r#"schema: kb.playbook/1
id: child
params: [{name: word, required: true}]
concurrency: "child-{{word}}"
steps:
  - {id: say, run: 'echo "$WORD" > "out/child-$WORD"; echo "$WORD"', env: {WORD: "{{word}}"}}
  - {id: sure, dependsOn: [say], condition: "{{word == 'a'}}", approve: "Go on?"}
  - {id: end, dependsOn: [sure], runIf: noneFailed, locks: [net], run: echo done}
outputs: {word: "{{say.output}}"}
"#;

const NEXT: &str = "schema: kb.playbook/1\nid: next\nsteps: [{id: a, run: ['true']}]\n";

fn project() -> Scratch {
    Scratch::new(&[
        ("playbooks/p.yml", PLAYBOOK),
        ("playbooks/child.yml", CHILD),
        ("playbooks/next.yml", NEXT),
        ("in.txt", "input\n"),
        ("out/.keep", ""),
    ])
}

/// Everything that must not depend on the kills.
#[derive(Debug, PartialEq)]
struct Product {
    files: BTreeMap<String, String>,
    outputs: Value,
    /// The runs by definition, with how they ended.
    runs: Vec<(String, String)>,
}

fn product(scratch: &Scratch) -> Result<Product, String> {
    let files = orphans::files(&scratch.root().join("out")).into_iter().map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).unwrap())
    });
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = scratch.json(&["run", "list", "--json"]);
    let list = list.as_array().cloned().unwrap_or_default();
    let mut runs = Vec::new();
    for run in &list {
        let id = text(&run["run"]);
        let said = scratch.kb(&["run", "verify", &id]);
        if said.code != 0 {
            return Err(format!("{said:?}"));
        }
        ended_once(&scratch.kb(&["run", "events", &id]).events())?;
        runs.push((text(&run["definition"]), text(&run["status"])));
    }
    runs.sort();
    let own = list.iter().find(|run| run["definition"] == "p").map(|run| text(&run["run"]));
    let outputs = scratch.json(&["run", "output", &own.unwrap_or_default(), "--json"]);
    Ok(Product { files: files.collect(), outputs, runs })
}

/// A step that has ended in its iteration neither starts nor ends in it again.
fn ended_once(events: &[Value]) -> Result<(), String> {
    let mut ended = BTreeSet::new();
    for event in events {
        let name = event["instance"].as_str().unwrap_or_default().to_owned();
        let place = (name, event["iteration"].as_u64().unwrap_or(1));
        match event["type"].as_str().unwrap_or_default() {
            "step:start" | "step:end" if ended.contains(&place) => {
                return Err(format!("the step had ended before {event}"));
            }
            "step:end" => drop(ended.insert(place)),
            _ => {}
        }
    }
    Ok(())
}

/// What a user does next; `None` once the run has succeeded.
fn next(scratch: &Scratch) -> Result<Option<Vec<String>>, String> {
    let words = |words: &[&str]| Ok(Some(words.iter().map(|word| (*word).to_owned()).collect()));
    let listed = scratch.kb(&["run", "list", "--json"]);
    let runs: Value = serde_json::from_str(&listed.out).unwrap_or(json!([]));
    let all = runs.as_array().cloned().unwrap_or_default();
    let Some(own) = all.iter().find(|run| run["definition"] == "p") else {
        return words(&["playbook", "run", "p"]);
    };
    let waiting = all.iter().filter(|run| run["status"] == "waiting");
    for run in waiting.filter_map(|run| run["run"].as_str()) {
        let view = scratch.json(&["run", "show", run, "--json"]);
        for step in view["steps"].as_array().into_iter().flatten() {
            let kind = step["question"]["kind"].as_str().unwrap_or_default();
            let name = step["instance"].as_str().unwrap_or_default();
            let draft =
                step["question"]["text"].as_str().is_some_and(|text| text.contains("first"));
            match kind {
                "ask" => return words(&["run", "answer", run, name, "there"]),
                "approve" if draft => {
                    return words(&["run", "reject", run, name, "--comment", "shorter"]);
                }
                "approve" => return words(&["run", "approve", run, name]),
                _ => {}
            }
        }
    }
    match own["status"].as_str().unwrap_or_default() {
        "succeeded" => Ok(None),
        "running" | "interrupted" | "waiting" => words(&["run", "resume", "@last"]),
        status => {
            let shown = scratch.kb(&["run", "show", "@last"]);
            Err(format!("the run is {status}: {shown:?}"))
        }
    }
}

/// Runs it to its end; `fault` is put on the command with that number.
fn play(scratch: &Scratch, fault: impl Fn(usize) -> Option<Fault>) -> Result<usize, String> {
    let folder = scratch.root().parent().unwrap().canonicalize().unwrap();
    for number in 0..COMMANDS {
        let Some(words) = next(scratch)? else { return Ok(number) };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = scratch.command();
        fault(number).iter().for_each(|fault| fault.on(&mut command));
        let ended = command.args(&words).stdin(std::process::Stdio::null()).finish();
        match ended.status.code() {
            Some(0 | 3) => {}
            None => drop(orphans::gone(&folder)?),
            Some(code) => return Err(format!("{words:?} ended with {code}: {ended:?}")),
        }
    }
    Err(format!("the run never ends: {:?}", scratch.kb(&["run", "show", "@last"])))
}

#[test]
fn every_construct_survives_kills_at_changes_of_files() {
    let usual = project();
    let folder = usual.root().parent().unwrap().canonicalize().unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let first = |number: usize| (number == 0).then(|| Fault::below(&folder).log(log.path()));
    let commands = play(&usual, first).unwrap();
    let usual = product(&usual).unwrap();
    let counts = |op: &Op| !matches!(op, Op::Synced | Op::Unsynced);
    let changes = read_log(log.path()).iter().filter(|record| counts(&record.op)).count();
    assert!(usual.files["draft"] == "shorter\n" && usual.runs.len() == 4, "{usual:#?}");

    let wanted = proof::amount("KB_CONSTRUCT_POINTS", 10, changes).clamp(1, changes);
    let next = AtomicUsize::new(0);
    let kills = AtomicUsize::new(0);
    let work = || {
        while let place = next.fetch_add(1, Ordering::SeqCst)
            && place < wanted
        {
            let point = 1 + place * changes / wanted;
            let deed = [Deed::KillBefore, Deed::KillAfter][place % 2];
            // Another owner, or an answer, is killed at one of its first changes.
            let second = 1 + place % commands.max(2);
            let scratch = project();
            let folder = scratch.root().parent().unwrap().canonicalize().unwrap();
            let fault = |number: usize| match number {
                0 => Some(Fault::below(&folder).at(point, deed)),
                number if number == second => {
                    Some(Fault::below(&folder).at(1 + place * 7 % 60, deed))
                }
                _ => None,
            };
            let label = format!("{deed:?} {point} of {changes}");
            let played = play(&scratch, fault).unwrap_or_else(|broken| panic!("{label}: {broken}"));
            kills.fetch_add(played.saturating_sub(commands), Ordering::SeqCst);
            scratch.kb(&["playbook", "run", "next", "--quiet"]).code(0);
            orphans::no_temporary_files(&folder).unwrap();
            let found = product_of(&scratch, &label);
            assert_eq!(found, usual, "{label}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    proof::record(
        "crash points: kill -9 in every construct",
        None,
        [
            ("changes of an undisturbed start", changes),
            ("points", wanted),
            ("commands more", kills.into_inner()),
        ],
    );
}

/// The product without the run that only clears away.
fn product_of(scratch: &Scratch, label: &str) -> Product {
    let mut found = product(scratch).unwrap_or_else(|broken| panic!("{label}: {broken}"));
    found.runs.retain(|(definition, _)| definition != "next");
    found
}
