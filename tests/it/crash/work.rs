//! The work of `step.sh` without processes, and models whose calls are counted.

use super::project::LEDGER;
use futures::FutureExt;
use futures::future::BoxFuture;
use kb::attempt::FileItems;
use kb::definition::{OutputParse, Script};
use kb::diagnostic::Code;
use kb::evidence::{Record, Verification};
use kb::executor::{
    CommandLine, Context, Executor, GateRequest, LocalExecutor, Outcome, Request, StepWork,
};
use kb::expression::Scope;
use kb::journal::StoredEvent;
use kb::llm::{ChatReply, ChatRequest, ModelError, ModelProvider, ModelRef, ScriptPlayer};
use kb::run::Event;
use kb::value::{Failure, Json, OutcomeKind, Tier};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Does in this process what `step.sh` does in one of its own.
pub(super) struct Worker {
    root: PathBuf,
    count: AtomicU64,
}

/// A worker for `run:` steps, and the real executor for everything else.
pub(super) struct Half {
    worker: Arc<Worker>,
    rest: LocalExecutor,
}

impl Worker {
    pub(super) fn at(root: PathBuf) -> Worker {
        Worker { root, count: AtomicU64::new(0) }
    }

    pub(super) fn before(self: &Arc<Self>, rest: LocalExecutor) -> Half {
        Half { worker: self.clone(), rest }
    }

    fn note(&self, kind: &str, who: u64, request: &Request, tag: &str) {
        let (key, attempt) = (request.idempotency_key(), request.attempt);
        let line = format!("{kind} w{who} {key} {attempt} {tag}\n");
        let path = self.root.join(LEDGER);
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
    }

    fn keep(&self, path: &str, text: &str) {
        std::fs::write(self.root.join(path), format!("{text}\n")).unwrap();
    }

    async fn work(self: Arc<Self>, request: Request, context: Context) -> Outcome {
        let StepWork::Run { command, parse } = &request.work else { unreachable!("a `run` step") };
        let words: Vec<String> = match command {
            CommandLine::Shell(text) => text.split(' ').map(str::to_owned).collect(),
            CommandLine::Argv(words) => words.iter().map(|word| word.text.clone()).collect(),
        };
        let (verb, args) = (words[2].as_str(), &words[3..]);
        let arg = |i: usize| args.get(i).map_or("", |arg| arg);
        let tag = format!("{verb}:{}", arg(0)).replace(' ', "_");
        let who = self.count.fetch_add(1, Ordering::Relaxed);
        self.note("S", who, &request, &tag);
        tokio::task::yield_now().await;
        let (code, text) = match verb {
            "say" => (0, arg(0).to_owned()),
            "keep" => {
                self.keep(arg(0), arg(1));
                (0, arg(1).to_owned())
            }
            "big" => (0, "x".repeat(1 << 14)),
            "second" if request.attempt < 2 => (7, String::new()),
            "second" => {
                self.keep(arg(0), "late");
                (0, "late".to_owned())
            }
            "unless-b" if arg(0) == "b" => (4, String::new()),
            "unless-b" => (0, format!("not b: {}", arg(0))),
            "if-fixed" if !self.root.join("fixed").exists() => (5, String::new()),
            "if-fixed" => {
                self.keep(arg(0), "fixed");
                (0, "fixed".to_owned())
            }
            "fail" => (arg(0).parse().unwrap(), String::new()),
            "hang" => {
                context.cancel.cancelled().await;
                let failure = Failure::new(Code::OTHER, "cancelled");
                return Outcome::failed(OutcomeKind::Cancelled, failure);
            }
            other => panic!("no work `{other}`"),
        };
        tokio::task::yield_now().await;
        self.note("E", who, &request, &tag);
        outcome(code, text, *parse)
    }
}

fn outcome(code: i32, text: String, parse: OutputParse) -> Outcome {
    let streams =
        |outcome: Outcome| Outcome { exit_code: Some(code), stdout: Some(text.clone()), ..outcome };
    if code != 0 {
        let failure = Failure::new(Code::OTHER, format!("exit code {code}"));
        return streams(Outcome::failed(OutcomeKind::Exit(code), failure));
    }
    streams(Outcome::ok(match parse {
        OutputParse::Json => serde_json::from_str(&text).unwrap(),
        _ => Json::String(text.clone()),
    }))
}

impl Executor for Half {
    fn execute(&self, request: Request, context: Context) -> BoxFuture<'static, Outcome> {
        match &request.work {
            // What leaves evidence has to be a process.
            StepWork::Run { .. } if !request.evidence => {
                self.worker.clone().work(request, context).boxed()
            }
            _ => self.rest.execute(request, context),
        }
    }

    fn list(&self, asked: FileItems) -> BoxFuture<'static, Result<Vec<String>, Failure>> {
        self.rest.list(asked)
    }

    fn verify(
        &self,
        request: GateRequest,
        scope: Arc<dyn Scope + Send + Sync>,
        context: Context,
    ) -> BoxFuture<'static, Verification> {
        self.rest.verify(request, scope, context)
    }
}

/// A script that counts who asks for what.
pub(super) struct Models {
    script: ScriptPlayer,
    asked: Mutex<BTreeMap<(String, u32, u32), u64>>,
}

impl Models {
    pub(super) fn of(script: Arc<Script>) -> Models {
        Models {
            script: ScriptPlayer::new(script, kb::clock::Clock::system().into()),
            asked: Mutex::default(),
        }
    }

    /// Each turn was asked for once, and once more for each kill at most; each answer was stored once
    /// in each iteration of its step.
    pub(super) fn hold(&self, events: &[StoredEvent], kills: u64) {
        let asked = self.asked.lock().unwrap();
        let most = asked.values().max().copied().unwrap_or_default();
        assert!(most <= 1 + kills, "{kills} kills: {asked:?}");
        let mut iterations: BTreeMap<u32, u32> = BTreeMap::new();
        let mut stored: BTreeMap<(u32, u32, u32, u32), u64> = BTreeMap::new();
        for event in events.iter().map(|stored| &*stored.event) {
            if let Event::Reset { closure, .. } = event {
                closure.iter().for_each(|ix| *iterations.entry(ix.0).or_default() += 1);
            }
            if let Event::Recorded { instance, attempt, record } = event
                && let Record::ModelCall { turn, .. } = &**record
            {
                let iteration = iterations.get(&instance.0).copied().unwrap_or_default();
                *stored.entry((instance.0, *attempt, *turn, iteration)).or_default() += 1;
            }
        }
        assert!(stored.values().all(|times| *times == 1), "{stored:?}");
        let turns: BTreeSet<(u32, u32, u32)> = stored
            .keys()
            .map(|(instance, attempt, turn, _)| (*instance, *attempt, *turn))
            .collect();
        assert_eq!(turns.len(), asked.len(), "every turn that was asked for was kept");
    }
}

impl ModelProvider for Models {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_token: &'a (dyn Fn(&str) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        let origin = &request.origin;
        let key = (origin.place.own.instance(), origin.place.own.attempt, origin.turn);
        *self.asked.lock().unwrap().entry(key).or_default() += 1;
        self.script.chat(request, on_token, cancel)
    }

    fn resolve(&self, tier: Tier, model: Option<&str>) -> Result<ModelRef, ModelError> {
        self.script.resolve(tier, model)
    }
}
