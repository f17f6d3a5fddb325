//! Several processes with one journal: lease owners, readers, cancellations and answers of other
//! processes, and an owner that was stopped for a while.

use crate::proof;
use crate::running::{Running, Start};
use crate::scratch::{Said, Scratch};
use kb::definition::SyncMode;
use kb::run::Event;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const READERS: usize = 8;
/// Answers from outside in one round, each given by two processes at once.
const ASKED: usize = 4;

const SHORT: &str = "schema: kb.playbook/1
id: short
steps:
  - {id: a, run: 'echo one; head -c 9000 /dev/zero | tr \"\\\\0\" x'}
  - {id: b, set: {n: 1}, dependsOn: [a]}
  - {id: c, run: 'exit 3', onError: continue}
  - {id: d, run: echo last, dependsOn: [b]}
outputs: {n: '{{b.output.n}}'}
";

const ENDLESS: &str = "schema: kb.playbook/1
id: endless
steps: [{id: wait, run: sleep 600}, {id: after, dependsOn: [wait], run: echo after}]
";

/// Where the state of the one project lies.
fn state(scratch: &Scratch) -> PathBuf {
    let projects = scratch.root().parent().unwrap().join("state/kb");
    let mut found = std::fs::read_dir(projects).unwrap().map(|entry| entry.unwrap().path());
    let folder = found.find(|path| path.join("journal.sqlite3").exists());
    folder.expect("the state folder")
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Waits for something that other processes bring about.
#[track_caller]
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(90), "it does not come: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn begin(scratch: &Scratch, args: &[&str]) -> Running {
    let mut command = scratch.command();
    command.args(args).stdout(Stdio::null()).stderr(Stdio::piped());
    command.start()
}

/// What a process that has ended said on stderr, and its code.
fn ended(child: Running) -> (Option<i32>, String) {
    let output = child.finish();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// No word of the database's own troubles reaches anybody.
#[track_caller]
fn undisturbed(text: &str) {
    for trouble in ["locked", "SQLITE", "busy", "panicked", "malformed", "KB0801"] {
        assert!(!text.contains(trouble), "`{trouble}` reached somebody:\n{text}");
    }
}

#[track_caller]
fn sound(said: Said, codes: &[i32]) -> Said {
    undisturbed(&said.err);
    assert!(codes.contains(&said.code), "code {}:\n{}\n{}", said.code, said.out, said.err);
    said
}

/// The runs that a list shows, newest first, so many at most.
const LISTED: usize = 20;

/// The newest runs, the oldest of them first.
fn runs(scratch: &Scratch) -> Vec<(String, String)> {
    let said = sound(scratch.kb(&["run", "list", "--json"]), &[0]);
    let list: Vec<Value> = serde_json::from_str(&said.out).expect("the list is whole");
    let row = |row: &Value| {
        let text =
            |key: &str| row[key].as_str().unwrap_or_else(|| panic!("{key}: {row}")).to_owned();
        (text("run"), text("definition"))
    };
    list.iter().rev().map(row).collect()
}

struct Shared<'a> {
    scratch: &'a Scratch,
    end: Instant,
    reads: AtomicU64,
    answers: AtomicU64,
    cancels: AtomicU64,
    refused: AtomicU64,
    ended: AtomicU64,
}

impl Shared<'_> {
    fn goes_on(&self) -> bool {
        Instant::now() < self.end
    }

    /// Looks at everything again and again. What was seen once stays, and is never half there.
    fn read(&self, reader: usize, long: &str) {
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        let mut newest: Option<String> = None;
        while self.goes_on() {
            let runs = runs(self.scratch);
            let known = |run: &String| runs.iter().any(|(listed, _)| listed == run);
            let there = newest.as_ref().is_none_or(known) || runs.len() == LISTED;
            assert!(there, "{newest:?} is gone from {runs:?}");
            newest = runs.last().map(|(run, _)| run.clone());
            // Some look at the long run, the others at those that come and go.
            let recent = runs.iter().rev().nth(reader % 4).map(|(run, _)| run.as_str());
            let run = recent.filter(|_| reader % 4 < 3).unwrap_or(long);
            if seen.len() > LISTED {
                seen.retain(|known, _| known == long);
            }
            let events = sound(self.scratch.kb(&["run", "events", run]), &[0]);
            consistent(&events, run);
            let before = seen.insert(run.to_owned(), events.out.clone()).unwrap_or_default();
            assert!(events.out.starts_with(&before), "what {run} had told is told otherwise");
            let shown = sound(self.scratch.kb(&["run", "show", run, "--json"]), &[0]);
            let shown: Value = serde_json::from_str(&shown.out).expect("a run is shown whole");
            let over =
                ["succeeded", "failed", "cancelled"].contains(&shown["status"].as_str().unwrap());
            assert_eq!(over, shown["endedAt"].is_string(), "{shown}");
            let live = |step: &Value| {
                ["running", "verifying", "ready", "pending"]
                    .contains(&step["status"].as_str().unwrap())
            };
            let none_live = !shown["steps"].as_array().unwrap().iter().any(live);
            assert!(!over || none_live, "a run that has ended has a live step: {shown}");
            sound(self.scratch.kb(&["run", "logs", run]), &[0]);
            sound(self.scratch.kb(&["run", "output", run, "--json"]), &[0, 1, 2, 3, 4]);
            self.reads.fetch_add(5, Ordering::Relaxed);
        }
    }

    /// One short run after another.
    fn run_short_ones(&self) {
        while self.goes_on() {
            let said = sound(self.scratch.kb(&["playbook", "run", "short", "--json"]), &[0]);
            let events = said.events();
            assert_eq!(events.last().unwrap()["status"], "succeeded");
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs that are told to stop from outside, by two processes at once.
    fn cancel(&self) {
        while self.goes_on() {
            let child = begin(self.scratch, &["playbook", "run", "endless", "--json"]);
            let pid = child.id();
            let run = until("the endless run", || self.held_by(pid));
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    let cancelled = || sound(self.scratch.kb(&["run", "cancel", &run]), &[0, 1]);
                    scope.spawn(cancelled);
                }
            });
            let (code, said) = ended(child);
            undisturbed(&said);
            assert_eq!(code, Some(1), "{said}");
            let events = self.scratch.kb(&["run", "events", &run]).events();
            assert_eq!(events.last().unwrap()["status"], "cancelled");
            self.cancels.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The run that a process holds, by its name in a lock: a list of the newest runs may be over
    /// before it is read. A run is held before it begins.
    fn held_by(&self, pid: u32) -> Option<String> {
        let locks = std::fs::read_dir(state(self.scratch).join("locks")).unwrap().flatten();
        let own = locks.map(|entry| entry.path()).find(|path| {
            std::fs::read_to_string(path).is_ok_and(|text| text.trim() == pid.to_string())
        });
        let run = own?.file_stem()?.to_str()?.to_owned();
        let begun = sound(self.scratch.kb(&["run", "show", &run]), &[0, 4]).code == 0;
        begun.then_some(run)
    }

    /// Runs that are killed in the middle of what must not simply run again: a new lease owner asks, and
    /// each answer comes from two processes at once.
    fn answer(&self) {
        let mut round = 0;
        while self.goes_on() {
            round += 1;
            let go = format!("go-{round}");
            let param = format!("go={go}");
            let mut child = begin(
                self.scratch,
                &["playbook", "run", "asks", "--param", &param, "--max-parallel", "8"],
            );
            let run = until("the asking run", || {
                if let Some(status) = child.try_wait().unwrap() {
                    let mut said = String::new();
                    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                    panic!("it has ended with {status}: {said}");
                }
                self.held_by(child.id())
            });
            until("all items are under way", || {
                let started = |i: usize| self.scratch.has(&format!("{go}-{i}"));
                (0..ASKED).all(started).then_some(())
            });
            child.kill().unwrap();
            child.wait().unwrap();
            let owner = begin(self.scratch, &["run", "resume", &run]);
            until("all items are asked for", || {
                let shown = self.scratch.kb(&["run", "show", &run, "--json"]);
                let shown: Value = serde_json::from_str(&shown.out).ok()?;
                let waits = |step: &&Value| step["status"] == "waiting";
                let count = count_in(&shown, &waits);
                (count >= ASKED).then_some(())
            });
            self.scratch.write(&go, "");
            std::thread::scope(|scope| {
                for i in 0..2 * ASKED {
                    let step = format!("pay[{}]", i / 2 + 1);
                    let run = &run;
                    scope.spawn(move || {
                        let told = self.scratch.kb(&["run", "approve", run, &step]);
                        // By then the run may have ended, or wait in no process any more.
                        sound(told, &[0, 2, 3, 5]);
                    });
                }
            });
            self.scratch.write(&format!("{go}-end"), "");
            let (_, said) = ended(owner);
            undisturbed(&said);
            until("the asking run ends", || {
                let shown = self.scratch.json(&["run", "show", &run, "--json"]);
                (shown["status"] == "succeeded").then_some(())
            });
            let journal = kb::journal::open(&state(self.scratch), SyncMode::Normal).unwrap();
            let stored = journal.events(&kb::value::RunId::new(&run).unwrap(), 0).unwrap();
            let answered: Vec<u32> = stored
                .iter()
                .filter_map(|stored| match &*stored.event {
                    Event::Answered { instance, .. } => Some(instance.0),
                    _ => None,
                })
                .collect();
            let each: BTreeSet<u32> = answered.iter().copied().collect();
            assert_eq!((answered.len(), each.len()), (ASKED, ASKED), "{answered:?}");
            self.answers.fetch_add(answered.len() as u64, Ordering::Relaxed);
        }
    }

    /// A second owner is refused, and told who the first one is.
    fn come_second(&self, run: &str, owner: u32) {
        while self.goes_on() {
            let said = sound(self.scratch.kb(&["run", "resume", run]), &[5]);
            let told = format!("process {owner} drives it");
            assert!(said.err.contains("KB0804") && said.err.contains(&told), "{}", said.err);
            self.refused.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The most that the WAL took, and what the long owner took in either half of the time.
    fn measure(&self, owner: u32) -> (u64, [u64; 2]) {
        let wal = state(self.scratch).join("journal.sqlite3-wal");
        let half = Instant::now() + self.end.saturating_duration_since(Instant::now()) / 2;
        let (mut most, mut memory) = (0, [0, 0]);
        while self.goes_on() {
            most = most.max(std::fs::metadata(&wal).map_or(0, |found| found.len()));
            let which = usize::from(Instant::now() > half);
            memory[which] = memory[which].max(resident_kib(owner));
            std::thread::sleep(Duration::from_millis(100));
        }
        (most, memory)
    }
}

fn count_in(shown: &Value, wanted: &dyn Fn(&&Value) -> bool) -> usize {
    let steps = shown["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let items = |step: &Value| step["items"].as_array().cloned().unwrap_or_default();
    let all: Vec<Value> = steps.iter().flat_map(|s| [vec![s.clone()], items(s)].concat()).collect();
    all.iter().filter(wanted).count()
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// A run's lines tell one run, in order.
fn consistent(said: &Said, run: &str) {
    let events = said.events();
    let mut last = 0;
    for event in &events {
        assert_eq!(event["run"], run);
        let seq = event["seq"].as_u64().unwrap_or_else(|| panic!("no seq: {event}"));
        assert!(seq >= last, "{seq} after {last}");
        last = seq;
    }
    assert!(events.is_empty() || events[0]["type"] == "run:start", "{}", events[0]);
}

/// Every run's stored events are numbered without holes, under epochs that only grow.
fn no_holes(directory: &Path) -> usize {
    let journal = kb::journal::open(directory, SyncMode::Normal).unwrap();
    let mut count = 0;
    for row in journal.list().unwrap() {
        let stored = journal.events(&row.run, 0).unwrap();
        let seqs: Vec<u64> = stored.iter().map(|stored| stored.seq).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "{}", row.run);
        assert!(stored.windows(2).all(|two| two[0].epoch <= two[1].epoch), "{}", row.run);
        count += stored.len();
    }
    count
}

#[test]
fn readers_cancels_and_answers_share_a_journal_with_lease_owners() {
    let seconds = proof::amount("KB_SHARING_SECONDS", 5, 600);
    let items = seconds * 8 + 200;
    let long = format!(
        "schema: kb.playbook/1\nid: long\nlimits: {{maxParallel: 2}}\nsteps:\n  - {{id: list, run: seq 1 {items}, parse: lines}}\n  - {{id: each, forEach: '{{{{list.output}}}}', run: 'sleep 0.25; echo done'}}\n"
    );
    let numbers: Vec<String> = (1..=ASKED).map(|i| i.to_string()).collect();
    let asks = format!(
        "schema: kb.playbook/1\nid: asks\nparams: [{{name: go}}]\nlimits: {{maxParallel: 8}}\nsteps:\n  - {{id: pay, forEach: {{in: [{}], as: n, key: '{{{{n}}}}'}}, retrySafe: false, env: {{GO: '{{{{go}}}}', N: '{{{{n}}}}'}}, run: 'touch $GO-$((N - 1)); until test -e $GO; do sleep 0.05; done'}}\n  - {{id: keeper, env: {{GO: '{{{{go}}}}'}}, run: 'until test -e $GO-end; do sleep 0.05; done'}}\n",
        numbers.join(", ")
    );
    let scratch = Scratch::new(&[
        ("playbooks/short.yml", SHORT),
        ("playbooks/endless.yml", ENDLESS),
        ("playbooks/long.yml", &long),
        ("playbooks/asks.yml", &asks),
    ]);
    sound(scratch.kb(&["playbook", "run", "short"]), &[0]);
    let owner = begin(&scratch, &["playbook", "run", "long"]);
    let pid = owner.id();
    let mut shared = Shared {
        scratch: &scratch,
        end: Instant::now() + Duration::from_secs(seconds as u64),
        reads: AtomicU64::new(0),
        answers: AtomicU64::new(0),
        cancels: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        ended: AtomicU64::new(0),
    };
    let run = until("the long run", || shared.held_by(pid));
    shared.end = Instant::now() + Duration::from_secs(seconds as u64);
    let shared = &shared;
    let (wal, [early, late]) = std::thread::scope(|scope| {
        let long = run.as_str();
        (0..READERS).for_each(|reader| drop(scope.spawn(move || shared.read(reader, long))));
        scope.spawn(|| shared.run_short_ones());
        scope.spawn(|| shared.cancel());
        scope.spawn(|| shared.answer());
        scope.spawn(|| shared.come_second(&run, pid));
        shared.measure(pid)
    });
    sound(scratch.kb(&["run", "cancel", &run]), &[0]);
    let (code, said) = ended(owner);
    undisturbed(&said);
    assert_eq!(code, Some(1), "{said}");
    let events = no_holes(&state(&scratch));
    assert!(wal < 32 << 20, "the WAL grew to {wal} bytes");
    assert!(early > 0 && late < early + early / 5 + (8 << 10), "{early} KiB, then {late} KiB");
    let counted = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let counts = [&shared.reads, &shared.answers, &shared.cancels, &shared.refused, &shared.ended];
    let [reads, answers, cancels, refused, short] = counts.map(counted);
    assert!(reads > 0 && answers > 0 && cancels > 0 && refused > 0 && short > 0);
    proof::record(
        "two processes",
        None,
        [
            ("seconds", json!(seconds)),
            ("readers", json!(READERS)),
            ("reads", json!(reads)),
            ("answers", json!(answers)),
            ("cancels", json!(cancels)),
            ("second owners refused", json!(refused)),
            ("runs beside the long one", json!(short)),
            ("events", json!(events)),
            ("largest WAL, KiB", json!(wal >> 10)),
            ("owner's memory, first half, KiB", json!(early)),
            ("owner's memory, second half, KiB", json!(late)),
            ("locked", json!(0)),
        ],
    );
}

/// A lease owner that is stopped in the middle of a step, and whose lock is lost meanwhile, as happens on a
/// network file system; another process has taken the run over, and is in the middle of that step too.
struct TakenOver {
    scratch: Scratch,
    run: String,
    first: Running,
    second: Running,
}

impl TakenOver {
    fn begin(steps: &str) -> TakenOver {
        let text =
            format!("schema: kb.playbook/1\nid: p\nlimits: {{maxParallel: 4}}\nsteps:\n{steps}");
        let scratch = Scratch::new(&[("playbooks/p.yml", &text)]);
        let first = begin(&scratch, &["playbook", "run", "p"]);
        until("the step begins", || scratch.has("began-1").then_some(()));
        let run = scratch.last_run();
        signal(first.id(), rustix::process::Signal::STOP);
        let refused = scratch.kb(&["run", "resume", &run]).code(5);
        let refused = refused.says(&["KB0804", &format!("process {} drives it", first.id())]);
        undisturbed(&refused.err);
        std::fs::remove_file(lock(&scratch, &run)).unwrap();
        let second = begin(&scratch, &["run", "resume", &run]);
        until("the step begins again", || scratch.has("began-2").then_some(()));
        TakenOver { scratch, run, first, second }
    }

    /// The first owner goes on, and finds out.
    fn wake(&mut self) -> String {
        if self.first.try_wait().unwrap().is_none() {
            signal(self.first.id(), rustix::process::Signal::CONT);
        }
        let stderr = self.first.stderr.take();
        let code = self.first.wait().unwrap().code();
        let mut said = String::new();
        std::io::Read::read_to_string(&mut stderr.unwrap(), &mut said).unwrap();
        assert_eq!(code, Some(5), "{said}");
        assert!(said.contains("KB0805") && said.contains("kb run show"), "{said}");
        undisturbed(&said);
        said
    }
}

fn lock(scratch: &Scratch, run: &str) -> PathBuf {
    state(scratch).join("locks").join(format!("{run}.lock"))
}

/// A step that says which of its goes it is, and ends when it may.
const GOES: &str = "test -e began-1 && N=2 || N=1; touch began-$N; until test -e go-$N; do sleep 0.02; done; echo $N >> ledger";

#[test]
fn a_stopped_owner_that_lost_its_lease_writes_nothing_when_it_continues() {
    let steps = format!(
        "  - {{id: a, run: '{GOES}'}}\n  - {{id: b, dependsOn: [a], run: 'echo b >> ledger'}}\n"
    );
    let mut taken = TakenOver::begin(&steps);
    let before = taken.scratch.kb(&["run", "events", &taken.run]).code(0).out;
    taken.scratch.write("go-1", "");
    taken.wake();
    let scratch = &taken.scratch;
    assert_eq!(
        scratch.kb(&["run", "events", &taken.run]).code(0).out,
        before,
        "nothing is written"
    );
    assert!(lock(scratch, &taken.run).exists(), "the lock of the present owner stays");
    let told = format!("process {} drives it", taken.second.id());
    scratch.kb(&["run", "resume", &taken.run]).code(5).says(&["KB0804", &told]);
    scratch.write("go-2", "");
    assert_eq!(taken.second.wait().unwrap().code(), Some(0));
    let ledger = scratch.read("ledger");
    assert_eq!(ledger.lines().filter(|line| *line == "b").count(), 1, "{ledger}");
    assert!(ledger.ends_with("2\nb\n"), "{ledger}");
    no_holes(&state(scratch));
    assert!(!lock(scratch, &taken.run).exists());
}

#[test]
fn a_stopped_owner_that_lost_its_lease_consumes_no_answer() {
    // What must not simply run again waits for a person in the second owner; in the first one, which
    // sleeps, it runs, so that an answer would mean nothing to it.
    let steps = "  - {id: pay, retrySafe: false, run: 'until test -e paid; do sleep 0.02; done'}\n"
        .to_owned()
        + &format!("  - {{id: a, run: '{GOES}'}}\n");
    let mut taken = TakenOver::begin(&steps);
    let (scratch, run) = (&taken.scratch, taken.run.clone());
    let status = |id: &str| {
        let shown = scratch.json(&["run", "show", &run, "--json"]);
        let steps = shown["steps"].as_array().unwrap().clone();
        steps.iter().find(|step| step["instance"] == id).unwrap()["status"].clone()
    };
    until("a person is asked", || (status("pay") == "waiting").then_some(()));
    // The answer lies there while only the sleeper could take it.
    signal(taken.second.id(), rustix::process::Signal::STOP);
    scratch.kb(&["run", "approve", &run, "pay"]).code(0).says(&["the reply was delivered"]);
    // Nothing ends in the sleeper, so that the answer is all that it can meet. Were it to take that,
    // it would go on; then its step ends.
    signal(taken.first.id(), rustix::process::Signal::CONT);
    let began = Instant::now();
    while taken.first.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(20));
    }
    taken.scratch.write("paid", "");
    taken.wake();
    signal(taken.second.id(), rustix::process::Signal::CONT);
    let scratch = &taken.scratch;
    scratch.write("go-2", "");
    assert_eq!(taken.second.wait().unwrap().code(), Some(0), "the answer was taken by its owner");
    let answers = scratch.kb(&["run", "events", &taken.run]).events();
    let answered = answers.iter().filter(|event| event["type"] == "ask:answered").count();
    assert_eq!(answered, 1, "{answers:?}");
}
