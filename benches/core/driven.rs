//! Time of runs through the engine and of reading them back.

use crate::shape::{Shape, loaded, planned};
use divan::Bencher;
use divan::counter::ItemsCount;
use futures::FutureExt;
use futures::future::BoxFuture;
use kb::definition::SyncMode;
use kb::engine::{Parts, Secrets, Setup, StartMode, drive};
use kb::evidence::{Confidence, Verification};
use kb::executor::{Context, Executor, GateRequest, Outcome, Request};
use kb::expression::Scope;
use kb::journal::{Journal, NewRun, StoredEvent};
use kb::plan::Plan;
use kb::redaction::Redactor;
use kb::run::{Rules, RunStatus};
use kb::value::{Digest, Json, JsonMap, RunId, Timestamp};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::mpsc::unbounded_channel;

const STEPS: usize = 10_000;

/// `set` steps are evaluated by the engine itself, so nothing is left to execute.
struct NothingToDo;

impl Executor for NothingToDo {
    fn execute(&self, _: Request, _: Context) -> BoxFuture<'static, Outcome> {
        async { Outcome::ok(Json::Null) }.boxed()
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

impl Secrets for NothingToDo {
    fn by_name(&self, _: &str) -> Option<String> {
        None
    }

    fn by_reference(&self, _: &str) -> Option<String> {
        None
    }
}

/// One new run in a journal on disk.
pub(crate) struct House {
    journal: Arc<dyn Journal>,
    plan: Arc<Plan>,
    run: RunId,
    epoch: u64,
    _folder: tempfile::TempDir,
}

impl House {
    pub(crate) fn new(plan: &Arc<Plan>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let journal = kb::journal::open(folder.path(), SyncMode::default()).expect("a journal");
        let run = RunId::new("r1").expect("a letter and a digit");
        let (definition, at) = ("shaped".to_owned(), Timestamp(0));
        let frozen = Redactor::default().mask(Json::Null);
        let new = NewRun { run: run.clone(), definition, at, frozen };
        let epoch = journal.create(new).expect("a new run");
        House { journal, plan: plan.clone(), run, epoch, _folder: folder }
    }

    pub(crate) async fn drive(self) -> Self {
        let parts = Parts {
            journal: self.journal.clone(),
            executor: Arc::new(NothingToDo),
            secrets: Arc::new(NothingToDo),
            redactor: Arc::default(),
            prompts: Default::default(),
            clock: kb::clock::Clock::system().into(),
            faults: None,
            parent: None,
        };
        let (_keep, commands) = unbounded_channel();
        let setup = Setup {
            parts,
            run: self.run.clone(),
            epoch: self.epoch,
            plan: self.plan.clone(),
            params: Arc::new(json!({})),
            rules: Rules::default(),
            task_files: JsonMap::new(),
            facts: Default::default(),
            parent: None,
            start: StartMode::Start {
                digest: Digest::of("d"),
                environment: json!({}),
                presets: Vec::new(),
            },
            history: Vec::new(),
            verified: Default::default(),
            earlier: Default::default(),
        };
        let summary = drive(setup, None, commands).await.expect("a journal that works");
        assert_eq!(summary.status, RunStatus::Succeeded);
        self
    }

    fn events(&self) -> Vec<StoredEvent> {
        self.journal.events(&self.run, 0).expect("a readable journal")
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime")
}

/// Goal: 10 µs a step, with the journal as shipped.
#[divan::bench(args = Shape::ALL, sample_count = 10)]
fn run_10000_set_steps(bencher: Bencher, shape: &Shape) {
    let (plan, runtime) = (planned(&loaded(&shape.text(STEPS))), runtime());
    bencher
        .counter(ItemsCount::new(STEPS))
        .with_inputs(|| House::new(&plan))
        .bench_values(|house| runtime.block_on(house.drive()));
}

/// The journal's part of a resume.
#[divan::bench(sample_count = 10)]
fn read_10000_steps_back(bencher: Bencher) {
    let plan = planned(&loaded(&Shape::Layered.text(STEPS)));
    let house = runtime().block_on(House::new(&plan).drive());
    bencher.counter(ItemsCount::new(STEPS)).bench(|| house.events());
}
