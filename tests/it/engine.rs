//! The engine over a journal in memory, with an executor that each test defines.

use crate::journals::{masked_event, masked_json, wait};
use crate::simulate::{plan, playbook, step};
use futures::FutureExt;
use futures::future::BoxFuture;
use kb::attempt::Progress;
use kb::definition::{RunCommand, RunStep, Step, StepKind};
use kb::diagnostic::{Code, SourceId, Span};
use kb::engine::{
    EventSender, Parts, RunControl, Secrets, Setup, StartMode, Summary, Update, drive,
    event_channel,
};
use kb::evidence::{
    CallRequest, Change, Confidence, Invocation, InvocationStatus, Note, Payload, ProcessEvidence,
    Purpose, Record, Verification,
};
use kb::executor::{Context, Executor, GateRequest, Outcome, Request};
use kb::expression::Scope;
use kb::journal::memory::MemoryJournal;
use kb::journal::{Blobs as _, EventLog as _, Inbox as _, Leases as _, NewRun, RunIndex as _};
use kb::redaction::Redactor;
use kb::run::{Event, Rules, RunStatus};
use kb::value::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

type Work = dyn Fn(Request, Context) -> BoxFuture<'static, Outcome> + Send + Sync;

struct Written(Arc<Work>);

impl Executor for Written {
    fn execute(&self, request: Request, context: Context) -> BoxFuture<'static, Outcome> {
        (self.0)(request, context)
    }

    fn verify(
        &self,
        _: GateRequest,
        _: Arc<dyn Scope + Send + Sync>,
        _: Context,
    ) -> BoxFuture<'static, Verification> {
        async { Verification::of(Confidence::High, Vec::new()) }.boxed()
    }
}

pub(crate) struct NoSecrets;

impl Secrets for NoSecrets {
    fn by_name(&self, _: &str) -> Option<String> {
        None
    }
    fn by_reference(&self, _: &str) -> Option<String> {
        None
    }
}

fn shell(id: &str, after: &[&str]) -> Step {
    let span = Span::new(SourceId(0), 0, 0);
    let mut step = step(id);
    step.kind = StepKind::Run(RunStep {
        command: RunCommand::Shell("true".into()),
        parse: Default::default(),
    });
    step.depends_on = after.iter().map(|on| (StepId::new(on).unwrap(), span)).collect();
    step
}

struct House {
    journal: MemoryJournal,
    plan: Arc<kb::plan::Plan>,
    run: RunId,
    epoch: u64,
    redactor: Arc<Redactor>,
    updates: Option<EventSender>,
}

impl House {
    fn new(steps: Vec<Step>) -> Self {
        let journal = MemoryJournal::new();
        let run = RunId::new("r1").unwrap();
        let new = NewRun {
            run: run.clone(),
            definition: "d".into(),
            at: Timestamp(0),
            frozen: masked_json(Json::Null),
        };
        let epoch = journal.create(new).unwrap();
        House {
            journal,
            plan: Arc::new(plan(playbook(steps, Vec::new()))),
            run,
            epoch,
            redactor: Arc::default(),
            updates: None,
        }
    }

    async fn drive(
        &self,
        opening: StartMode,
        work: impl Fn(Request, Context) -> BoxFuture<'static, Outcome> + Send + Sync + 'static,
        command: impl FnOnce(UnboundedSender<RunControl>),
    ) -> Summary {
        let (send, commands) = unbounded_channel();
        command(send);
        let parts = Parts {
            journal: Arc::new(self.journal.clone()),
            executor: Arc::new(Written(Arc::new(work))),
            secrets: Arc::new(NoSecrets),
            redactor: self.redactor.clone(),
            prompts: Default::default(),
            clock: kb::clock::Clock::system().into(),
            faults: None,
            parent: None,
        };
        let setup = Setup {
            parts,
            run: self.run.clone(),
            epoch: self.epoch,
            plan: self.plan.clone(),
            params: Arc::new(json!({})),
            rules: Rules { max_parallel: 4, ..Rules::default() },
            task_files: JsonMap::new(),
            facts: Default::default(),
            parent: None,
            start: opening,
            history: self.journal.events(&self.run, 0).unwrap(),
            verified: Default::default(),
            earlier: Default::default(),
        };
        drive(setup, self.updates.clone(), commands).await.unwrap()
    }

    fn take_again(&mut self) {
        self.journal.expire_leases();
        self.epoch = self.journal.acquire(&self.run).unwrap();
    }

    fn events(&self) -> Vec<Event> {
        self.journal
            .events(&self.run, 0)
            .unwrap()
            .into_iter()
            .map(|stored| stored.event.into_inner())
            .collect()
    }
}

fn start() -> StartMode {
    StartMode::Start { digest: Digest::of("d"), environment: json!({}), presets: Vec::new() }
}

fn done(value: Json) -> BoxFuture<'static, Outcome> {
    async move { Outcome::ok(value) }.boxed()
}

#[tokio::test]
async fn steps_that_only_compute_give_way_to_who_wants_them_stopped() {
    let steps = (0..1_000).map(|i| {
        let mut step = step(&format!("s{i}"));
        step.kind = StepKind::Set(Box::default());
        step
    });
    let house = House::new(steps.collect());
    let drain =
        |send: UnboundedSender<RunControl>| send.send(RunControl::Drain("enough".into())).unwrap();
    let summary = house.drive(start(), |_, _| done(json!(null)), drain).await;
    let ended = house.events().iter().filter(|e| matches!(e, Event::Ended { .. })).count();
    assert_eq!(summary.status, RunStatus::Interrupted);
    assert!((1..1_000).contains(&ended), "{ended} ended");
}

#[tokio::test]
async fn independent_steps_run_at_the_same_time() {
    let house = House::new(vec![shell("a", &[]), shell("b", &[])]);
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let summary = house
        .drive(
            start(),
            move |_, _| {
                let both = both.clone();
                async move {
                    // Each waits for the other: one after the other would never end.
                    both.wait().await;
                    Outcome::ok(json!(null))
                }
                .boxed()
            },
            |_| {},
        )
        .await;
    assert_eq!(summary.status, RunStatus::Succeeded);
}

#[tokio::test]
async fn a_resumed_run_repeats_what_was_in_flight_and_nothing_else() {
    let mut house = House::new(vec![shell("a", &[]), shell("b", &["a"]), shell("c", &["b"])]);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let keys = seen.clone();
    let (tell, mut reached) = unbounded_channel();
    let work = move |request: Request, context: Context| {
        keys.lock().unwrap().push(request.idempotency_key());
        if request.instance.step == *"b" {
            let _ = tell.send(());
            return async move {
                context.cancel.cancelled().await;
                Outcome::failed(OutcomeKind::Cancelled, Failure::new(Code::OTHER, "left"))
            }
            .boxed();
        }
        done(json!(1))
    };
    let summary = house
        .drive(start(), work, |commands| {
            tokio::spawn(async move {
                reached.recv().await;
                let _ = commands.send(RunControl::Abandon);
            });
        })
        .await;
    assert_eq!(summary.status, RunStatus::Interrupted);
    house.take_again();
    let keys = seen.clone();
    let summary = house
        .drive(
            StartMode::Resume,
            move |request, _| {
                keys.lock().unwrap().push(request.idempotency_key());
                done(json!(2))
            },
            |_| {},
        )
        .await;
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(*seen.lock().unwrap(), ["r1/a/1", "r1/b/1", "r1/b/1", "r1/c/1"]);
}

#[tokio::test]
async fn draining_lets_what_runs_end_and_starts_nothing_new() {
    let mut house = House::new(vec![shell("a", &[]), shell("b", &["a"])]);
    let (tell, mut reached) = unbounded_channel();
    let gate = Arc::new(tokio::sync::Notify::new());
    let open = gate.clone();
    let work = move |_: Request, _: Context| {
        let _ = tell.send(());
        let gate = gate.clone();
        async move {
            gate.notified().await;
            Outcome::ok(json!(1))
        }
        .boxed()
    };
    let summary = house
        .drive(start(), work, |commands| {
            tokio::spawn(async move {
                reached.recv().await;
                let _ = commands.send(RunControl::Drain("Ctrl-C".into()));
                tokio::task::yield_now().await;
                open.notify_one();
            });
        })
        .await;
    assert_eq!(summary.status, RunStatus::Interrupted);
    let ended = house.events().iter().filter(|e| matches!(e, Event::Ended { .. })).count();
    assert_eq!(ended, 1, "only the first step ended");
    house.take_again();
    let summary = house.drive(StartMode::Resume, |_, _| done(json!(1)), |_| {}).await;
    assert_eq!(summary.status, RunStatus::Succeeded);
}

#[tokio::test]
async fn a_large_output_goes_to_a_blob_and_a_small_one_stays() {
    let house = House::new(vec![shell("large", &[]), shell("small", &[])]);
    let work = |request: Request, _: Context| {
        let size = if request.instance.step == *"large" { 100_000 } else { 10 };
        done(json!("x".repeat(size)))
    };
    house.drive(start(), work, |_| {}).await;
    let outputs: BTreeMap<u32, Payload> = house
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::AttemptEnded { instance, output: Some(output), .. } => {
                Some((instance.0, output))
            }
            _ => None,
        })
        .collect();
    let Payload::Blob { digest, bytes } = &outputs[&0] else { panic!("not a blob") };
    assert_eq!(*bytes, 100_002);
    assert_eq!(house.journal.blob(digest).unwrap().len(), 100_002);
    assert!(outputs[&1].as_inline().is_some());
}

#[tokio::test]
async fn a_panic_in_an_attempt_fails_its_step_only() {
    let house = House::new(vec![shell("a", &[]), shell("b", &[])]);
    let work = |request: Request, _: Context| {
        if request.instance.step == *"a" {
            return async { panic!("planted swordfish-tulip") }.boxed();
        }
        done(json!(1))
    };
    house.redactor.add("T", "swordfish-tulip");
    let summary = house.drive(start(), work, |_| {}).await;
    assert_eq!(summary.status, RunStatus::Failed);
    let failure = house.events().into_iter().find_map(|event| match event {
        Event::AttemptEnded { failure: Some(failure), .. } => Some(failure),
        _ => None,
    });
    let message = failure.unwrap().message;
    assert!(message.ends_with(": planted «secret:T»"), "{message}");
}

/// One place masks for all who do something, whatever they have masked themselves.
#[tokio::test]
async fn whatever_an_attempt_leaves_or_shows_is_masked() {
    const T: &str = "swordfish-tulip";
    let (updates, mut received) = event_channel();
    let house = House { updates: Some(updates), ..House::new(vec![shell("a", &[])]) };
    house.redactor.add("T", T);
    let work = |_: Request, context: Context| {
        async move {
            for progress in [
                Progress::Output(format!("says {T}.")),
                Progress::Tool(format!("calls {T}")),
                Progress::Token("one sword".into()),
                Progress::Token("fish-tulip two sword".into()),
                Progress::Model("second".into()),
            ] {
                context.recorder.progress(progress);
            }
            for record in telling(T) {
                context.recorder.record(record).await.unwrap();
            }
            let failure = Failure::new(Code::OTHER, T).help(T);
            let failure = Failure { details: Some(Box::new(json!({T: [T]}))), ..failure };
            let text = || Some(T.to_owned());
            let process = ProcessEvidence { cwd: T.to_owned(), ..ProcessEvidence::default() };
            let (stdout, stderr, process) = (text(), text(), Some(Box::new(process)));
            let failed = Outcome::failed(OutcomeKind::ToolError, failure);
            Outcome { output: Some(json!([T])), stdout, stderr, process, ..failed }
        }
        .boxed()
    };
    house.drive(start(), work, |_| {}).await;
    let mut shown = Vec::new();
    while let Some(update) = received.try_recv() {
        match update {
            Update::Progress { progress, .. } => shown.push(format!("{:?}", *progress)),
            Update::Stored(stored) => assert!(!format!("{stored:?}").contains("tulip")),
        }
    }
    let expected = [
        r#"Output("says «secret:T».")"#,
        r#"Tool("calls «secret:T»")"#,
        r#"Token("one ")"#,
        r#"Token("«secret:T» two ")"#,
        r#"Token("sword")"#,
        r#"Model("second")"#,
    ];
    assert_eq!(shown, expected);
    for event in house.events() {
        let stored = serde_json::to_string(&event).unwrap();
        assert!(!stored.contains(T), "{stored}");
    }
}

/// One record of each kind that an attempt leaves, with this in every text.
fn telling(text: &str) -> Vec<Record> {
    let own = || text.to_owned();
    let call = CallRequest { id: own(), tool: own(), args: json!({text: [text]}) };
    let change = Change { diff: Some(format!("+{text}")), ..Change::new(own(), None, None) };
    let invocation = Invocation {
        output: None,
        id: "c1".into(),
        tool: "t".into(),
        args: json!([text]),
        args_hash: Digest::of(""),
        at: Timestamp(0),
        duration_ms: 0,
        purpose: Purpose::Execution,
        status: InvocationStatus::Success,
        changes: vec![change],
        evidence: Vec::new(),
        process: Some(Box::new(ProcessEvidence {
            cwd: text.to_owned(),
            ..ProcessEvidence::default()
        })),
        bytes: 0,
    };
    let payload = || Payload::inline(json!({text: [text]}));
    vec![
        Record::ModelCall {
            reasoning: None,
            turn: 1,
            model: own(),
            tier: None,
            request: Digest::of(""),
            digests: None,
            prompt: None,
            usage: Usage::NONE,
            text: payload(),
            calls: vec![call],
            cut_short: false,
        },
        Record::ToolCall {
            turn: 1,
            id: "c1".into(),
            tool: own(),
            args: payload(),
            percent_done: None,
        },
        Record::ToolResult { turn: 1, invocation, result: payload() },
        Record::Output { parts: payload(), omitted: 0 },
        Record::Observed { basis: payload() },
        Record::Compression {
            turn: 1,
            covers: 1,
            keeps: vec![],
            summary: own(),
            usage: Usage::NONE,
        },
        Record::Note(Note::info(own())),
    ]
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_never_answers_ends_by_its_timeout() {
    let mut slow = shell("slow", &[]);
    slow.details_mut().timeout.attempt = Some(Duration::from_secs(3600));
    let house = House::new(vec![slow]);
    let work = |_: Request, context: Context| {
        async move {
            context.cancel.cancelled().await;
            Outcome::failed(OutcomeKind::Cancelled, Failure::new(Code::OTHER, "told to stop"))
        }
        .boxed()
    };
    let summary = house.drive(start(), work, |_| {}).await;
    assert_eq!(summary.status, RunStatus::Failed);
    assert!(
        house.events().iter().any(|event| matches!(
            event,
            Event::AttemptEnded { outcome: OutcomeKind::Timeout, .. }
        ))
    );
}

#[tokio::test]
async fn a_cancel_from_another_process_ends_the_run() {
    let house = House::new(vec![shell("a", &[]), shell("b", &["a"])]);
    let post = house.journal.clone();
    let run = house.run.clone();
    let work = move |_: Request, context: Context| {
        post.post(&run, "k1", "cancel", json!({"by": "a colleague"})).unwrap();
        async move {
            context.cancel.cancelled().await;
            Outcome::failed(OutcomeKind::Cancelled, Failure::new(Code::OTHER, "told to stop"))
        }
        .boxed()
    };
    let summary = house.drive(start(), work, |_| {}).await;
    assert_eq!(summary.status, RunStatus::Cancelled);
    assert!(wait(house.journal.pending(&house.run)).unwrap().is_empty(), "the message was taken");
}

#[tokio::test]
async fn a_writer_with_an_old_epoch_is_refused() {
    let mut house = House::new(vec![shell("a", &[])]);
    let old = house.epoch;
    house.take_again();
    let events = [masked_event(Event::CancelRequested { by: "x".into() })];
    let batch = kb::journal::Batch::after(0, Timestamp(1), &events);
    let stale = wait(house.journal.append(&house.run, old, batch));
    assert!(stale.is_err());
}
