//! A bench for one attempt: scripted responses, tools that only record, a journal in memory.

use futures::future::BoxFuture;
use kb::attempt::{
    Context, Outcome, Progress, Recorder, Request, SpecialistWork, StepWork, Stopped,
};
use kb::definition::{Example, Schema, Specialist};
use kb::diagnostic::{SourceId, Span};
use kb::evidence::{CallRequest, Exchange, Heard};
use kb::evidence::{
    Change, Feedback, FileKind, FileState, Invocation, InvocationStatus, Purpose, Record,
};
use kb::llm::{
    ChatReply, ChatRequest, Message, ModelError, ModelProvider, ModelRef, ToolDescription,
};
use kb::specialist::{SpecialistRunner, ToolSet};
use kb::tool::{Call, CallResult, Caller};
use kb::toolspec::{ToolCatalog, ToolSpec};
use kb::value::{
    Digest, InstanceKey, Json, RunId, SpecialistId, StepId, Tier, Timestamp, Usage, json_text,
};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A written answer.
#[derive(Clone)]
pub(super) enum Reply {
    Say(&'static str),
    Calls(Vec<(&'static str, Json)>),
    CallsAnd(&'static str, Vec<(&'static str, Json)>),
    Error(ModelError),
    /// Says this where no structured output is asked for, else refuses.
    NoSchema(&'static str),
    /// Never answers.
    Hang,
}

pub(super) fn submit(output: Json) -> Reply {
    Reply::Calls(vec![("submit_output", output)])
}

pub(super) fn done() -> Reply {
    submit(json!({"summary": "done"}))
}

pub(super) fn call(tool: &'static str, args: Json) -> Reply {
    Reply::Calls(vec![(tool, args)])
}

fn refused() -> ModelError {
    ModelError::Refused { message: "no such format".to_owned(), status: Some(400) }
}

/// A model whose answer depends on the turn alone, as a real one's would on the conversation.
#[derive(Default)]
pub(super) struct Model {
    replies: Vec<Reply>,
    fallback: Vec<Reply>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl ModelProvider for Model {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_token: &'a (dyn Fn(&str) + Send + Sync),
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        let turn = request.origin.turn as usize;
        let replies = if request.model.name == "spare" { &self.fallback } else { &self.replies };
        let reply = replies.get(turn - 1).cloned();
        let model = request.model.name.clone();
        let structured = request.response_schema.is_some();
        self.requests.lock().unwrap().push(request);
        Box::pin(async move {
            let (text, calls) = match reply {
                None => return Err(ModelError::ScriptEnded { message: format!("no turn {turn}") }),
                Some(Reply::Error(error)) => return Err(error),
                Some(Reply::Hang) => std::future::pending().await,
                Some(Reply::NoSchema(_)) if structured => return Err(refused()),
                Some(Reply::Say(text) | Reply::NoSchema(text)) => (text, Vec::new()),
                Some(Reply::Calls(calls)) => ("", calls),
                Some(Reply::CallsAnd(text, calls)) => (text, calls),
            };
            on_token(text);
            let calls = calls.into_iter().map(|(tool, args)| CallRequest {
                id: "same".to_owned(),
                tool: tool.to_owned(),
                args,
            });
            let usage = Usage { prompt_tokens: 10, completion_tokens: 5, ..Usage::NONE };
            Ok(ChatReply {
                text: text.to_owned(),
                calls: calls.collect(),
                usage,
                model,
                cut_short: false,
                submitted: None,
                reasoning: None,
            })
        })
    }

    fn resolve(&self, tier: Tier, model: Option<&str>) -> Result<ModelRef, ModelError> {
        Ok(ModelRef { name: model.unwrap_or("first").to_owned(), tier: Some(tier) })
    }
}

/// `look` reads, `touch` writes, `big` answers at length, `wait` never ends by itself.
#[derive(Clone)]
pub(super) struct Tools {
    made: Arc<Mutex<Vec<(String, Json)>>>,
    kept: Arc<Mutex<Vec<String>>>,
    catalog: ToolCatalog,
    /// How many calls with `meet` have started.
    met: Arc<tokio::sync::Semaphore>,
}

impl Default for Tools {
    fn default() -> Self {
        Tools {
            made: Arc::default(),
            kept: Arc::default(),
            catalog: catalog(),
            met: Arc::new(tokio::sync::Semaphore::new(0)),
        }
    }
}

/// The built-in tools, and one that reads.
fn catalog() -> ToolCatalog {
    let look = ToolSpec { only_reads: true, ..(*ToolCatalog::default().entry("t:look")).clone() };
    ToolCatalog::default().with([Arc::new(look)])
}

impl ToolSet for Tools {
    fn for_attempt(
        &self,
        _: Duration,
        _: Option<Duration>,
        _: Option<&kb::definition::ToolRules>,
        _: Arc<dyn Recorder>,
    ) -> Arc<dyn ToolSet> {
        Arc::new(self.clone())
    }

    fn describe(&self, allow_list: &[String]) -> Vec<ToolDescription> {
        let describe = |name: &String| ToolDescription {
            name: name.clone(),
            description: format!("does {name}"),
            schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        };
        allow_list.iter().map(describe).collect()
    }

    fn reader(&self, _: &str) -> Option<ToolDescription> {
        None
    }

    fn tools(&self) -> &ToolCatalog {
        &self.catalog
    }

    fn keep(&self, call: &str, text: &str) {
        self.kept.lock().unwrap().push(format!("{call}: {text}"));
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, (CallResult, Invocation)> {
        Box::pin(async move {
            self.made.lock().unwrap().push((call.id.clone(), call.args.clone()));
            if let Some(count) = call.args["meet"].as_u64() {
                self.met.add_permits(1);
                self.met.acquire_many(count as u32).await.unwrap().forget();
                self.met.add_permits(count as usize);
            }
            if call.tool == "t:wait" {
                cancel.cancelled().await;
            }
            let result = self.result(call);
            (result.clone(), invocation(call, &result))
        })
    }
}

impl Tools {
    fn result(&self, call: &Call) -> CallResult {
        let Caller::Specialist { allow_list, .. } = &call.caller else { unreachable!() };
        let (status, result) = match call.tool.as_str() {
            tool if !allow_list.iter().any(|name| name == tool) => {
                (InvocationStatus::Denied, json!({"error": {"message": "not among the tools"}}))
            }
            "t:wait" => (InvocationStatus::Timeout, json!({"error": {"message": "stopped"}})),
            "t:big" => (InvocationStatus::Success, json!("é".repeat(2_000))),
            _ if call.args["fail"] == true => (InvocationStatus::Failed, json!({"error": "no"})),
            _ => (InvocationStatus::Success, json!({"seen": call.args})),
        };
        let touched = call.tool == "t:touch" && status == InvocationStatus::Success;
        let changes = if touched { vec![created(&json_text(&call.args["path"]))] } else { vec![] };
        CallResult {
            status,
            result,
            failure: None,
            changes,
            evidence: vec![],
            process: None,
            asks: None,
        }
    }
}

pub(super) fn created(path: &str) -> Change {
    let after = FileState {
        kind: FileKind::File,
        size: 1,
        mtime_ns: 1,
        ctime_ns: 1,
        inode: 1,
        mode: 0o644,
        sha256: None,
    };
    Change::new(path.to_owned(), None, Some(after))
}

pub(super) fn invocation(call: &Call, result: &CallResult) -> Invocation {
    Invocation {
        output: None,
        id: call.id.clone(),
        tool: call.tool.clone(),
        args: call.args.clone(),
        args_hash: Digest::of_json(&call.args),
        at: Timestamp(0),
        duration_ms: 1,
        purpose: Purpose::Execution,
        status: result.status,
        changes: result.changes.clone(),
        evidence: vec![],
        process: None,
        bytes: 0,
    }
}

/// Keeps records; refuses all after `until`.
pub(super) struct Journal {
    records: Mutex<Vec<Record>>,
    shown: Mutex<Vec<String>>,
    until: usize,
}

impl Recorder for Journal {
    fn record(&self, record: Record) -> BoxFuture<'_, Result<(), Stopped>> {
        let mut records = self.records.lock().unwrap();
        let stored = if records.len() < self.until {
            records.push(record);
            Ok(())
        } else {
            Err(Stopped)
        };
        Box::pin(async move { stored })
    }

    fn exchange(&self, _: String, _: Exchange) -> BoxFuture<'_, Result<Heard, Stopped>> {
        Box::pin(async { Err(Stopped) })
    }

    fn progress(&self, progress: Progress) {
        self.shown.lock().unwrap().push(match progress {
            Progress::Token(text) => format!("token {text}"),
            Progress::Tool(text) => format!("tool {text}"),
            Progress::Model(text) => format!("model {text}"),
            Progress::Output(text) => format!("output {text}"),
        });
    }

    fn active(&self) {}
}

pub(super) fn span() -> Span {
    Span::new(SourceId(0), 0, 0)
}

pub(super) fn specialist() -> Specialist {
    let tools = ["t:look", "t:touch", "t:big", "t:wait"];
    let id = SpecialistId::new("tester").unwrap();
    Specialist {
        name: "Tester".to_owned(),
        role: "You test.".to_owned(),
        static_context: Some("Tests live in `tests/`.".to_owned()),
        examples: vec![Example {
            task: "Find it".to_owned(),
            approach: "1. look".to_owned(),
            outcome: "Found".to_owned(),
        }],
        tools: tools.iter().map(|name| catalog().entry(name)).collect(),
        constraints: vec!["Never guess.".to_owned()],
        ..Specialist::bare(id, span(), "tester.yml", Digest::of("tester"))
    }
}

/// One attempt to come.
pub(super) struct Bench {
    pub(super) specialist: Specialist,
    pub(super) replies: Vec<Reply>,
    pub(super) fallback: Vec<Reply>,
    pub(super) history: Vec<Record>,
    pub(super) feedback: Option<Feedback>,
    pub(super) until: usize,
    pub(super) cancel: CancellationToken,
    pub(super) tools: Tools,
    /// Real tools instead, where there are some.
    pub(super) toolbox: Option<Arc<dyn ToolSet>>,
    /// Another model instead of the written replies.
    pub(super) provider: Option<Arc<dyn ModelProvider>>,
    pub(super) output_schema: Option<Schema>,
}

/// What came of it.
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    pub(super) records: Vec<Record>,
    pub(super) requests: Vec<ChatRequest>,
    pub(super) made: Vec<(String, Json)>,
    pub(super) shown: Vec<String>,
    pub(super) kept: Vec<String>,
}

pub(super) fn bench(replies: impl IntoIterator<Item = Reply>) -> Bench {
    Bench {
        specialist: specialist(),
        replies: replies.into_iter().collect(),
        fallback: vec![],
        history: vec![],
        feedback: None,
        until: usize::MAX,
        cancel: CancellationToken::new(),
        tools: Tools::default(),
        toolbox: None,
        provider: None,
        output_schema: None,
    }
}

impl Bench {
    pub(super) fn with(mut self, change: impl FnOnce(&mut Specialist)) -> Self {
        change(&mut self.specialist);
        self
    }

    pub(super) async fn run(self) -> Ran {
        let model = Arc::new(Model {
            replies: self.replies,
            fallback: self.fallback,
            requests: Mutex::default(),
        });
        let journal = Arc::new(Journal {
            records: Mutex::default(),
            shown: Mutex::default(),
            until: self.until,
        });
        let work = SpecialistWork {
            specialist: Arc::new(self.specialist),
            task: "Say what is in `a`.".to_owned(),
            task_values: vec![],
            task_file: None,
            input: Some(json!({"files": ["a"]})),
            output_schema: self.output_schema,
            feedback: self.feedback.map(Arc::new),
            history: self.history,
            params: Arc::new(json!({})),
            session: None,
            hands_over: false,
            judge: None,
        };
        let toolbox = self.toolbox.unwrap_or_else(|| Arc::new(self.tools.clone()));
        let provider = self.provider.unwrap_or_else(|| model.clone());
        let runner = SpecialistRunner {
            provider,
            toolbox,
            agents: None,
            homes: None,
            max_input_tokens: kb::definition::LlmSettings::default().max_input_tokens,
            context: None,
            reasoning: None,
            judge: Default::default(),
            warned: Arc::default(),
            ledger: Arc::default(),
            clock: kb::clock::Clock::system().into(),
        };
        let context = Context {
            cancel: self.cancel,
            recorder: journal.clone(),
            shutdown: Default::default(),
        };
        let outcome = runner.run(&request(&work), &work, &context).await;
        let tools = &self.tools;
        let requests = model.requests.lock().unwrap().clone();
        let records = journal.records.lock().unwrap().clone();
        let made = tools.made.lock().unwrap().clone();
        let kept = tools.kept.lock().unwrap().clone();
        let shown = journal.shown.lock().unwrap().clone();
        Ran { outcome, records, requests, made, shown, kept }
    }
}

pub(super) fn request(work: &SpecialistWork) -> Request {
    Request {
        confined: kb::attempt::Live::always(None),
        tree: None,
        relied: Vec::new(),
        left: None,
        callers: Default::default(),
        run: RunId::new("r1").unwrap(),
        instance: InstanceKey::root(StepId::new("review").unwrap()),
        iteration: 1,
        pass: 1,
        attempt: 1,
        work: StepWork::Specialist(work.clone()),
        timeout: None,
        idle: None,
        env: vec![],
        cwd: String::new(),
        evidence: true,
        before: None,
        cache: None,
    }
}

impl Ran {
    /// How it ended, in one line.
    pub(super) fn end(&self) -> String {
        let failure = self.outcome.failure.as_ref();
        match (&self.outcome.output, failure) {
            (_, Some(failure)) => format!("{} {}", self.outcome.kind, failure.code),
            (Some(output), None) => format!("{} {output}", self.outcome.kind),
            (None, None) => self.outcome.kind.to_string(),
        }
    }

    pub(super) fn details(&self) -> &Json {
        self.outcome.failure.as_ref().unwrap().details.as_ref().unwrap()
    }

    /// All that the model was sent on that turn, as text.
    pub(super) fn sent(&self, turn: usize) -> String {
        self.requests[turn - 1].messages.iter().map(text).collect::<Vec<_>>().join("\n----\n")
    }

    pub(super) fn tools_of(&self, turn: usize) -> Vec<&str> {
        self.requests[turn - 1].tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    pub(super) fn notes(&self) -> Vec<&str> {
        let notes = self.records.iter().filter_map(|record| match record {
            Record::Note(note) => Some(note.text.as_str()),
            _ => None,
        });
        notes.collect()
    }
}

pub(super) fn text(message: &Message) -> String {
    match message {
        Message::System(text) => format!("system: {text}"),
        Message::User(text) => format!("user: {text}"),
        Message::Assistant { text, calls, .. } => {
            let calls: Vec<String> =
                calls.iter().map(|c| format!(" [{} {} {}]", c.id, c.tool, c.args)).collect();
            format!("assistant: {text}{}", calls.concat())
        }
        Message::Tool { call_id, content, .. } => format!("tool {call_id}: {content}"),
    }
}

pub(super) async fn check(replies: impl IntoIterator<Item = Reply>, expected: &str) -> Ran {
    let ran = bench(replies).run().await;
    assert_eq!(ran.end(), expected);
    ran
}

pub(super) const DONE: &str = r#"ok {"summary":"done"}"#;

pub(super) fn kind(record: &Record) -> &'static str {
    match record {
        Record::ModelCall { .. } => "model",
        Record::ToolCall { .. } => "call",
        Record::ToolResult { .. } => "result",
        Record::Compression { .. } => "compression",
        Record::Approval { .. } => "approval",
        Record::Output { .. } => "output",
        Record::Observed { .. } => "observed",
        Record::ChildRun { .. } => "child run",
        Record::ChildRunEnded { .. } => "end of a child run",
        Record::Reservation { .. } => "reservation",
        Record::BudgetWarning { .. } => "budget warning",
        Record::Phase { .. } => "phase",
        Record::Recall { .. } => "recall",
        Record::Delegate { .. } => "delegate",
        Record::DelegateEnded { .. } => "delegate ended",
        Record::CacheHit(_) => "cache-hit",
        Record::Note(_) => "note",
    }
}

/// Every result follows the reply that asked for it, and every call has one.
pub(super) fn assert_paired(messages: &[Message]) {
    let mut open: Vec<&str> = vec![];
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => {
                assert!(open.is_empty());
                open.extend(calls.iter().map(|call| call.id.as_str()));
            }
            Message::Tool { call_id, .. } => {
                let at = open.iter().position(|id| id == call_id);
                open.remove(at.expect("a result of a call just before it"));
            }
            _ => assert!(open.is_empty()),
        }
    }
}
