//! The model of test files: tests of playbooks (`kb.test/1`).

use kb_base::diagnostic::Span;
use kb_base::value::{Json, JsonMap, OutcomeKind, RunStatus, StepStatus, Verdict};
use std::time::Duration;

/// A file with tests of playbooks.
#[derive(Debug, Clone, Default)]
pub struct TestFile {
    /// The tests, in order.
    pub tests: Vec<TestCase>,
}

/// A value with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// The value as it is written.
    pub value: T,
    /// Position of the value.
    pub span: Span,
}

/// Values under names that the user chose, with positions, in the order of the file.
pub type LocatedMap<T> = Vec<(String, Located<T>)>;

/// One test: a run of a playbook in a new project folder, and its expected result.
#[derive(Debug, Clone)]
pub struct TestCase {
    /// Name, unique in the file, with the position of the test.
    pub name: Located<String>,
    /// Id of the playbook.
    pub playbook: Located<String>,
    /// Parameters of the run.
    pub params: JsonMap,
    /// Contents of the files of the new project, by path.
    pub files: LocatedMap<String>,
    /// Globs of files of this project to copy.
    pub copy: Vec<Located<String>>,
    /// Whether the new project is a git repository.
    pub git: bool,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Responses in place of the model.
    pub script: Option<TestScript>,
    /// Results in place of the execution of steps, by names of attempts, one for each attempt.
    pub stubs: LocatedMap<Vec<Stub>>,
    /// Results in place of the execution of tool calls, by tool.
    pub tools: LocatedMap<Vec<ToolStub>>,
    /// Injected faults.
    pub faults: Vec<Fault>,
    /// Replies of people, by names of attempts.
    pub answers: LocatedMap<TestReply>,
    /// Step after whose end the run is stopped and resumed.
    pub interrupt_after: Option<Located<String>>,
    /// Maximum number of steps that run in parallel.
    pub max_parallel: Option<u32>,
    /// Time limit of the test.
    pub timeout: Option<Duration>,
    /// The expected result.
    pub expect: Expectations,
}

/// The responses of a test in place of the model.
#[derive(Debug, Clone)]
pub enum TestScript {
    /// The path of a script, relative to the test file.
    File(Located<String>),
    /// A script that is part of the test file.
    Text {
        /// The script as `kb.script/1`.
        text: String,
        /// The names of the attempts that it has turns for.
        names: Vec<Located<String>>,
    },
}

/// The result of one attempt of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Stub {
    /// The output, or the failure.
    pub result: Result<Json, StubFailure>,
    /// Exit code of the process.
    pub exit_code: Option<i32>,
    /// Duration of the attempt.
    pub delay: Duration,
}

/// The failure of one attempt of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StubFailure {
    /// The text of the injected failure.
    pub message: String,
    /// Kind of the failure; `None`: by the exit code.
    pub kind: Option<OutcomeKind>,
}

/// The result of tool calls.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStub {
    /// Arguments that a call must have; `None`: any call.
    pub args: Option<Json>,
    /// The result, or the message of the failure.
    pub result: Result<Json, String>,
}

/// A fault that a test injects.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Step or item.
    pub step: Located<String>,
    /// How many attempts have the fault, from the first.
    pub attempts: u32,
    /// What fails.
    pub kind: FaultKind,
}

/// What fails.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultKind {
    /// The model call of a turn.
    Model {
        /// Number of the turn, from 1.
        turn: u32,
        /// How it fails.
        fault: ModelFault,
    },
    /// One call of a tool.
    Tool {
        /// Name of the tool.
        tool: String,
        /// Number of the call of this tool in the attempt, from 1.
        call: u32,
        /// The message of the failure.
        message: String,
    },
    /// The process is killed after the end of the step was stored.
    Kill,
    /// The disk of the journal is full when the end of the step is to be stored.
    DiskFull,
}

/// How a model call fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelFault {
    /// The provider answers with an HTTP status.
    Status {
        /// HTTP status, such as 429 or 500.
        status: u16,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The response ends in the middle.
    Cut,
    /// The response takes this much longer.
    Slow(Duration),
    /// The model submits its next output without the tool calls before it.
    Lie,
}

/// The reply of a person.
#[derive(Debug, Clone, PartialEq)]
pub enum TestReply {
    /// An answer to a question.
    Answer(Json),
    /// An approval with a comment.
    Approve(Option<String>),
    /// A rejection with a comment.
    Reject(Option<String>),
}

/// The expected result of a run.
#[derive(Debug, Clone, Default)]
pub struct Expectations {
    /// Status of the run; `None`: `succeeded`.
    pub status: Option<Located<RunStatus>>,
    /// Statuses of steps and items.
    pub steps: LocatedMap<StepStatus>,
    /// Numbers of attempts of steps and items.
    pub attempts: LocatedMap<u32>,
    /// Verdicts of steps and items.
    pub verdicts: LocatedMap<Verdict>,
    /// Parts of the code or message of failures; `run` is the run itself.
    pub errors: LocatedMap<String>,
    /// Outputs of the run.
    pub outputs: LocatedMap<Json>,
    /// Outputs of steps and items.
    pub step_outputs: LocatedMap<Json>,
    /// Files after the run, by path.
    pub files: LocatedMap<FileExpectation>,
    /// Globs of the files that the run changes.
    pub changes: Option<Vec<Located<String>>>,
    /// Events in this order; each has the fields to compare.
    pub events: Vec<Located<Json>>,
    /// Maximum cost of the run in US dollars.
    pub max_cost: Option<Located<f64>>,
    /// Position of `snapshot: true`.
    pub snapshot: Option<Span>,
}

/// The expected state of a file after the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileExpectation {
    /// Whether the file must not exist.
    pub absent: bool,
    /// The whole content.
    pub equals: Option<String>,
    /// Texts that the content contains.
    pub contains: Vec<String>,
    /// Texts that the content does not contain.
    pub lacks: Vec<String>,
    /// Regular expression that the content matches.
    pub matches: Option<String>,
}
