//! Kills before and after every write of a run, inside one process.

use super::dice::Dice;
use super::law::{Count, Life, hold, lost_sight_of_a_call};
use super::ledger::{self, Line};
use super::mortal::{Fate, Mortal, Side};
use super::project::{self, LEDGER};
use super::transitions;
use super::work::{Models, Worker};
use crate::alive;
use crate::engine::NoSecrets;
use crate::proof;
use crate::scratch::Scratch;
use kb::definition::{Catalog, load};
use kb::engine::{Parts, RunControl, Setup, StartMode, Summary, Update, drive};
use kb::executor::{HostAccess, LocalExecutor};
use kb::journal::{EventLog as _, JournalError, Leases as _, NewRun, RunIndex as _};
use kb::plan::Plan;
use kb::process::{BaseEnvironment, Supervisor};
use kb::project::ProjectFolder;
use kb::redaction::Masked;
use kb::run::{Event, Rules, RunStatus};
use kb::specialist::SpecialistRunner;
use kb::tool::{Approvals, Toolbox, ToolboxParts, sandbox_level};
use kb::value::{Digest, Json, JsonMap, RunId, Timestamp};
use kb::workspace::Workspace;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::unbounded_channel;

/// A run that needs more lease owners than this never ends.
const HOLDERS: usize = 40;

/// What somebody wants of the run, once the events say so; asked after each of them.
type Wish = fn(&[Event]) -> Option<Wanted>;

enum Wanted {
    /// At the terminal; again of the next owner, where this one died without a word of it.
    Here(RunControl),
    /// From another process, which was told that it is taken: never again.
    There(&'static str),
}

/// A playbook and what is wanted of it.
struct Story {
    name: &'static str,
    /// `None`: the project of 31 steps.
    playbook: Option<&'static str>,
    wish: Wish,
    /// The first owner always dies when it has stored such an event.
    omen: Option<fn(&Event) -> bool>,
    /// How it has to end.
    ends: RunStatus,
}

fn nothing(_: &[Event]) -> Option<Wanted> {
    None
}

fn has(events: &[Event], wanted: fn(&Event) -> bool) -> bool {
    events.iter().any(wanted)
}

fn began(events: &[Event]) -> bool {
    has(events, |e| matches!(e, Event::Started { .. }))
}

const STORIES: [Story; 10] = [
    Story { name: "usual", playbook: None, wish: nothing, omen: None, ends: RunStatus::Succeeded },
    Story {
        name: "cancelled",
        playbook: Some(
            "steps:
  - {id: long, run: [bash, step.sh, hang, forever]}
  - {id: after, dependsOn: [long], run: [bash, step.sh, say, never]}
finally: [{id: tidy, run: [bash, step.sh, keep, out/tidy, '{{run.status}}']}]
",
        ),
        wish: |events| {
            let asked = has(events, |e| matches!(e, Event::CancelRequested { .. }));
            (began(events) && !asked).then(|| Wanted::Here(RunControl::Cancel("somebody".into())))
        },
        omen: None,
        ends: RunStatus::Cancelled,
    },
    Story {
        name: "cancelled from elsewhere",
        playbook: Some(
            "steps:
  - {id: long, run: [bash, step.sh, hang, forever]}
  - {id: after, dependsOn: [long], run: [bash, step.sh, say, never]}
",
        ),
        wish: |events| began(events).then_some(Wanted::There("cancel")),
        omen: None,
        ends: RunStatus::Cancelled,
    },
    Story {
        name: "drained",
        playbook: Some(
            "steps:
  - {id: a, run: [bash, step.sh, keep, out/a, a]}
  - {id: b, dependsOn: [a], run: [bash, step.sh, keep, out/b, b]}
  - {id: c, dependsOn: [b], run: [bash, step.sh, keep, out/c, c]}
",
        ),
        wish: |events| {
            let asked = has(events, |e| matches!(e, Event::Draining { .. }));
            (began(events) && !asked).then(|| Wanted::Here(RunControl::Drain("SIGINT".into())))
        },
        omen: None,
        ends: RunStatus::Succeeded,
    },
    Story {
        name: "expired",
        playbook: Some(
            "limits: {timeout: 20ms}
steps: [{id: long, run: [bash, step.sh, hang, forever]}]
finally: [{id: tidy, run: [bash, step.sh, keep, out/tidy, '{{run.status}}']}]
",
        ),
        wish: nothing,
        omen: None,
        ends: RunStatus::Failed,
    },
    Story {
        name: "approved",
        playbook: Some(
            "steps:
  - {id: pay, retrySafe: false, run: [bash, step.sh, keep, out/pay, paid]}
  - {id: after, dependsOn: [pay], run: [bash, step.sh, keep, out/after, after]}
",
        ),
        wish: nothing,
        omen: Some(|event| matches!(event, Event::Started { .. })),
        ends: RunStatus::Succeeded,
    },
    Story {
        name: "waited and asked",
        playbook: Some(
            "steps:
  - {id: pause, wait: 20ms}
  - {id: ok, dependsOn: [pause], approve: 'Go?'}
  - {id: late, dependsOn: [pause], ask: {question: 'How many?', default: '7', timeout: 20ms}}
  - {id: after, dependsOn: [ok], run: [bash, step.sh, keep, out/after, '{{late.output}}']}
",
        ),
        wish: nothing,
        omen: None,
        ends: RunStatus::Succeeded,
    },
    Story {
        name: "approved in vain",
        playbook: Some("steps: [{id: a, run: [bash, step.sh, keep, out/a, a]}]\n"),
        // Nobody was asked; the next owner finds it at once.
        wish: |_| Some(Wanted::There("approve")),
        omen: Some(|event| matches!(event, Event::Started { .. })),
        ends: RunStatus::Succeeded,
    },
    Story {
        name: "hooked, locked and fanned out",
        playbook: Some(
            "hooks:
  onStart: [{id: opens, run: [bash, step.sh, keep, out/opens, o]}]
  onSuccess: [{id: well, run: [bash, step.sh, keep, out/well, '{{run.status}}']}]
  onFailure: [{id: badly, run: [bash, step.sh, keep, out/badly, b]}]
steps:
  - id: a
    locks: [x, y]
    run: [bash, step.sh, keep, out/a, a]
    hooks:
      onStart: [{id: begins, run: [bash, step.sh, keep, out/begins, b]}]
      onSuccess: [{id: tells, locks: [y], run: [bash, step.sh, keep, out/tells, '{{a.output}}']}]
      onFailure: [{id: never, run: [bash, step.sh, keep, out/never, n]}]
  - id: many
    locks: [x]
    matrix: {axes: {n: [1, 2], m: [3]}, exclude: [{n: 2, m: 3}], include: [{n: 5}]}
    run: [bash, step.sh, keep, 'out/many{{matrix.n}}', '{{matrix.n}}']
  - id: found
    dependsOn: [many]
    forEach: {files: 'out/many*', as: file, collect: '{{file}} {{found.output}}'}
    run: [bash, step.sh, keep, '{{file}}.seen', '{{index}}']
outputs: {found: \"{{found.output}}\", one: \"{{many.byKey['1,3']}}\"}
",
        ),
        wish: nothing,
        omen: None,
        ends: RunStatus::Succeeded,
    },
    Story {
        name: "retried",
        playbook: Some(
            "steps:
  - {id: a, run: [bash, step.sh, keep, out/a, a]}
  - {id: each, dependsOn: [a], forEach: [x, y, z], run: [bash, step.sh, if-fixed, 'out/{{item}}']}
  - {id: b, run: [bash, step.sh, keep, out/b, '{{each.output | join}}']}
finally: [{id: tidy, run: [bash, step.sh, keep, out/tidy, '{{run.status}}']}]
",
        ),
        wish: nothing,
        omen: None,
        ends: RunStatus::Succeeded,
    },
];

/// One run in a project of its own, on the fastest disk that there is.
struct House<'a> {
    story: &'a Story,
    scratch: Scratch,
    catalog: Catalog,
    plan: Arc<Plan>,
    run: RunId,
    worker: Arc<Worker>,
    models: Arc<Models>,
    posted: Arc<AtomicBool>,
}

/// Where a lease owner left the run.
enum Left {
    Summary(Box<Summary>),
    Killed,
}

impl<'a> House<'a> {
    fn of(story: &'a Story) -> House<'a> {
        let scratch = project::scratch();
        if let Some(body) = story.playbook {
            scratch.write("playbooks/p.yml", &format!("schema: kb.playbook/1\nid: p\n{body}"));
        }
        let (files, problems) = ProjectFolder::at(&scratch.root()).definition_files();
        assert!(problems.is_empty(), "{problems:?}");
        let (catalog, diagnostics) = load(files);
        assert!(diagnostics.iter().all(|d| !d.is_error()), "{diagnostics:?}");
        let (plan, problems) = Plan::build(&catalog.playbooks["p"], &catalog);
        let plan = Arc::new(plan.unwrap_or_else(|| panic!("{problems:?}")));
        let (script, _, diagnostics) =
            kb::definition::load_script("script.yml", scratch.read("script.yml").as_bytes());
        let script = Arc::new(script.unwrap_or_else(|| panic!("{diagnostics:?}")));
        let worker = Arc::new(Worker::at(scratch.root()));
        let models = Arc::new(Models::of(script));
        let run = RunId::new("r1").unwrap();
        let posted = Arc::default();
        House { story, scratch, catalog, plan, run, worker, models, posted }
    }

    fn state_dir(&self) -> PathBuf {
        self.scratch.root().parent().unwrap().join("state")
    }

    fn executor(&self) -> LocalExecutor {
        let parts = ToolboxParts {
            doubles: None,
            memory: None,
            clock: kb::clock::Clock::system().into(),
            tools: Vec::new(),
            workspace: Workspace::open(&self.scratch.root(), &[], &[self.state_dir()]).unwrap(),
            supervisor: Supervisor::new(BaseEnvironment::select(std::env::vars(), &[])),
            settings: self.catalog.settings.clone(),
            approvals: Approvals { yes: true },
            redactor: Arc::default(),
            sandbox: sandbox_level(Default::default()),
        };
        let host = HostAccess::of(&parts);
        let toolbox = Arc::new(Toolbox::new(parts));
        let provider = self.models.clone();
        let runner = SpecialistRunner {
            clock: kb::clock::Clock::system().into(),
            provider,
            toolbox: toolbox.clone(),
            agents: None,
            homes: None,
            max_input_tokens: kb::definition::LlmSettings::default().max_input_tokens,
            context: None,
            reasoning: None,
            judge: Default::default(),
            warned: Arc::default(),
            ledger: Arc::default(),
        };
        let states = kb::workspace::StatesBefore::of(&self.state_dir(), &self.scratch.root());
        LocalExecutor::new(host, toolbox, Some(Arc::new(runner))).with_states_before(states)
    }

    /// One owner, from taking hold to its end or its death, in a runtime that dies with it.
    fn live(&self, fate: Arc<Fate>) -> Left {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let inner = kb::journal::open(&self.state_dir(), Default::default()).unwrap();
        let journal = Arc::new(Mortal::new(inner, fate.clone()));
        let lived = self.open(&journal).and_then(|(epoch, opening)| {
            runtime.block_on(self.drive(journal.clone(), epoch, opening))
        });
        drop(runtime);
        match lived {
            Ok(summary) => Left::Summary(Box::new(summary)),
            Err(_) if fate.is_dead() => {
                // Its attempts were dropped, and the next owner is of the same process: nobody
                // waits for them as after a kill.
                alive::end(|| alive::working_below(&self.scratch.root()));
                Left::Killed
            }
            Err(error) => panic!("{}: {error}", self.story.name),
        }
    }

    /// What a user does next: begins, goes on, re-opens or answers.
    fn open(&self, journal: &Mortal) -> Result<(u64, StartMode), JournalError> {
        let start = || StartMode::Start {
            digest: Digest::of("frozen"),
            environment: json!({"sandbox": "none"}),
            presets: Vec::new(),
        };
        let row = match journal.run(&self.run) {
            Ok(row) => row,
            Err(JournalError::NoRun(_)) => {
                let (run, definition) = (self.run.clone(), "p".to_owned());
                let new = NewRun { run, definition, at: Timestamp(1), frozen: Masked::default() };
                return Ok((journal.create(new)?, start()));
            }
            Err(error) => return Err(error),
        };
        let epoch = journal.acquire(&self.run)?;
        let events = journal.events(&self.run, 0)?;
        let waits = matches!(row.status, RunStatus::Waiting);
        let opening = if events.is_empty() {
            start()
        } else if row.status.has_ended() {
            if self.story.name == "retried" {
                self.scratch.write("fixed", "");
            }
            StartMode::retry(Vec::new(), false)
        } else if waits {
            let (by, answer, comment) = ("somebody".into(), None, None);
            let reply =
                kb::run::Reply { approved: true, by, answer, comment, call: None, seen: None };
            StartMode::Answer { step: None, reply }
        } else {
            StartMode::Resume
        };
        Ok((epoch, opening))
    }

    async fn drive(
        &self,
        journal: Arc<Mortal>,
        epoch: u64,
        opening: StartMode,
    ) -> Result<Summary, JournalError> {
        let (orders, commands) = unbounded_channel();
        let (updates, mut received) = kb::engine::event_channel();
        let events = journal.events(&self.run, 0)?;
        let mut seen: Vec<Event> =
            events.into_iter().map(|stored| stored.event.into_inner()).collect();
        let (wish, run, posted) = (self.story.wish, self.run.clone(), self.posted.clone());
        let state_dir = self.state_dir();
        tokio::spawn(async move {
            let mut asked = false;
            loop {
                match wish(&seen).filter(|_| !asked) {
                    Some(Wanted::Here(command)) => drop(orders.send(command)),
                    Some(Wanted::There(kind)) if !posted.swap(true, Ordering::SeqCst) => {
                        let other = kb::journal::open(&state_dir, Default::default()).unwrap();
                        other.post(&run, "once", kind, json!({"by": "another"})).unwrap();
                    }
                    _ => {}
                }
                asked |= wish(&seen).is_some();
                match received.recv().await {
                    Some(Update::Stored(stored)) => {
                        seen.extend(stored.into_iter().map(|stored| stored.event.into_inner()));
                    }
                    Some(Update::Progress { .. }) => {}
                    None => return,
                }
            }
        });
        // Whoever wants something of a run that has not begun says it now.
        tokio::task::yield_now().await;
        let parts = Parts {
            clock: kb::clock::Clock::system().into(),
            faults: None,
            journal,
            executor: Arc::new(self.worker.before(self.executor())),
            secrets: Arc::new(NoSecrets),
            redactor: Arc::default(),
            prompts: Default::default(),
            parent: None,
        };
        let history = parts.journal.events(&self.run, 0)?;
        let setup = Setup {
            parts,
            run: self.run.clone(),
            epoch,
            plan: self.plan.clone(),
            params: Arc::new(json!({})),
            rules: Rules { max_parallel: 3, ..Rules::default() },
            task_files: JsonMap::new(),
            facts: Default::default(),
            parent: None,
            start: opening,
            history,
            verified: Default::default(),
            earlier: Default::default(),
        };
        drive(setup, Some(updates), commands).await
    }

    /// What did not work, for people.
    fn failures(&self) -> Vec<String> {
        let fails = |event: &Event| match event {
            Event::Ended { instance, failure: Some(failure), tolerated: false, .. } => {
                Some(format!("{instance:?} {failure}"))
            }
            Event::RunEnded { failure: Some(failure), .. } => Some(format!("the run: {failure}")),
            _ => None,
        };
        self.life(false).events.iter().filter_map(|stored| fails(&stored.event)).collect()
    }

    fn lines(&self) -> Vec<Line> {
        ledger::read(&self.scratch.root().join(LEDGER))
    }

    fn life(&self, killed: bool) -> Life {
        let lines = self.lines().len();
        let journal = kb::journal::open(&self.state_dir(), Default::default()).unwrap();
        let events = journal.events(&self.run, 0).unwrap_or_default();
        Life { events, lines, killed }
    }
}

/// How a run went that was killed at these writes, one a lease owner.
struct Ended {
    count: Count,
    /// Writes of all its lease owners.
    writes: usize,
    files: BTreeMap<String, String>,
    outputs: Option<Json>,
    /// What each kill met: `append before`, `runStarted after`.
    met: BTreeSet<String>,
}

/// `death` says at which of its writes a lease owner dies, by the number of lease owners before it and of their
/// writes.
fn play(
    story: &Story,
    label: &str,
    death: impl Fn(usize, usize) -> Option<(usize, Side)>,
) -> Ended {
    let house = House::of(story);
    let (mut lives, mut met, mut writes) = (Vec::new(), BTreeSet::new(), 0);
    let outputs = loop {
        assert!(lives.len() < HOLDERS, "{} at {label}: the run never ends", story.name);
        let omen = story.omen.filter(|_| lives.is_empty());
        let fate = Arc::new(Fate::at(death(lives.len(), writes), omen));
        let left = house.live(fate.clone());
        writes += fate.writes();
        let life = house.life(matches!(left, Left::Killed));
        met.extend(fate.met());
        lives.push(life);
        match left {
            Left::Summary(summary) if summary.status == story.ends => break summary.outputs,
            Left::Summary(summary) => {
                let goes_on = matches!(summary.status, RunStatus::Waiting | RunStatus::Interrupted);
                let fixed =
                    story.name == "retried" || lost_sight_of_a_call(&house.life(false).events);
                let retry = fixed && summary.status == RunStatus::Failed;
                let failed = || house.failures();
                assert!(
                    goes_on || retry,
                    "{} at {label}: {} {:#?}",
                    story.name,
                    summary.status,
                    failed()
                );
            }
            Left::Killed => {
                // A cancelled or expired run that ended just before its lease owner died.
                let journal = kb::journal::open(&house.state_dir(), Default::default()).unwrap();
                if journal.run(&house.run).is_ok_and(|row| row.status == story.ends) {
                    break None;
                }
            }
        }
    };
    let counted = hold(&house.run, &house.plan, &lives, &house.lines());
    let count = counted.unwrap_or_else(|broken| panic!("{} at {label}: {broken}", story.name));
    house.models.hold(&lives.last().unwrap().events, count.kills);
    let outputs = outputs.and_then(|o| o.as_inline().map(|value| (**value).clone()));
    Ended { count, writes, files: project::result(&house.scratch.root()), outputs, met }
}

/// Plays a story to its end with a kill at one write, for all writes or for some of them; two at a
/// time.
fn at_every_write(story: &Story, stride: usize) -> (Count, BTreeSet<String>) {
    let usual = play(story, "undisturbed", |_, _| None);
    let points: Vec<(usize, Side)> = (1..=usual.writes)
        .flat_map(|write| [(write, Side::Before), (write, Side::After)])
        .step_by(stride)
        .collect();
    let next = AtomicUsize::new(0);
    let sums = Mutex::new((Count::default(), BTreeSet::new()));
    let work = || {
        while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (write, side) = *point;
            let death = |_, before| Some((write.checked_sub(before)?, side));
            let ended = play(story, &format!("{point:?}"), death);
            assert_eq!(ended.files, usual.files, "{} at {point:?}", story.name);
            if ended.outputs.is_some() {
                assert_eq!(ended.outputs, usual.outputs, "{} at {point:?}", story.name);
            }
            let mut sums = sums.lock().unwrap();
            sums.0 += ended.count;
            sums.1.extend(ended.met);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    sums.into_inner().unwrap()
}

#[test]
fn an_owner_may_be_killed_before_and_after_every_write() {
    let mut count = Count::default();
    let mut met = BTreeSet::new();
    for story in &STORIES {
        // The quick form takes every write of the short stories and some of the long one.
        let stride = if story.playbook.is_some() || proof::is_full() { 1 } else { 11 };
        let (counted, writes) = at_every_write(story, stride);
        count += counted;
        met.extend(writes);
    }
    let missing = |met: &BTreeSet<String>| -> Vec<String> {
        ["append", "create", "take", "taken", "blob"]
            .map(str::to_owned)
            .into_iter()
            .chain(transitions::all())
            .flat_map(|name| [format!("{name} before"), format!("{name} after")])
            .filter(|point| !met.contains(point))
            .collect()
    };
    // Steps that run at the same time do not always write in the same order, so that a number may
    // miss what it met in the run without kills.
    for _ in 0..4 {
        if proof::is_full() && !missing(&met).is_empty() {
            let (counted, writes) = at_every_write(&STORIES[0], 1);
            count += counted;
            met.extend(writes);
        }
    }
    if proof::is_full() {
        assert_eq!(missing(&met), Vec::<String>::new(), "nothing was ever killed there");
    }
    proof::record(
        "crash points: every write of the engine, before and after",
        None,
        [
            ("kills", count.kills),
            ("kinds of points", met.len() as u64),
            ("lost", count.lost),
            ("repeated", count.repeated),
            ("in flight twice", count.twice),
        ],
    );
}

/// Several deaths in a row, each at one of the first writes of a lease owner: it may die while it takes the
/// run over, and die again.
#[test]
fn owners_may_be_killed_one_after_the_other() {
    let runs = proof::amount("KB_CRASH_CHAINS", 4, 150);
    let usual = play(&STORIES[0], "undisturbed", |_, _| None);
    let next = AtomicUsize::new(0);
    let sum = Mutex::new(Count::default());
    let work = || {
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && number < runs
        {
            let mut dice = Dice::of(number as u64);
            let deaths: Vec<(usize, Side)> = (0..12)
                .map(|_| {
                    (
                        dice.below(20) as usize + 1,
                        [Side::Before, Side::After][dice.below(2) as usize],
                    )
                })
                .collect();
            let label = format!("chain {number}");
            let ended = play(&STORIES[0], &label, |owner, _| deaths.get(owner).copied());
            assert_eq!(ended.files, usual.files, "{label}: {deaths:?}");
            *sum.lock().unwrap() += ended.count;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let count = sum.into_inner().unwrap();
    proof::record(
        "crash points: owners that die one after the other",
        Some(0),
        [
            ("runs", runs as u64),
            ("kills", count.kills),
            ("of those while taking over", count.recoveries),
        ],
    );
}
