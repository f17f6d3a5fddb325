use super::{Check, NotYet, RetryPolicy, Timeout, Verify};
use crate::definition::Schema;
use crate::diagnostic::Span;
use crate::expression::{Expression, Template, ValueMap, ValueTemplate};
use crate::value::{SpecialistId, StepId, ToolName};

/// A checked step (LANGUAGE §3). Playbook-wide `defaults` are already in it. What few steps say is
/// boxed: a plan may have very many.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its id, unique in its definition.
    pub id: StepId,
    /// What it does.
    pub kind: StepKind,
    /// Whether it is one of the steps or of `finally`.
    pub phase: StepPhase,
    /// The explicit dependencies (those of `order: sequential` too), with where each is written.
    pub depends_on: Box<[(StepId, Span)]>,
    /// Runs only where this is true.
    pub condition: Option<Expression>,
    /// How the ends of its dependencies decide.
    pub run_if: RunIf,
    /// The gate after it.
    pub verify: Option<Box<Verify>>,
    /// What a failure means for the run.
    pub on_error: OnError,
    /// One instance an item.
    pub for_each: Option<Box<ForEach>>,
    /// Everything else, where it says any of it; read it with [`Step::details`].
    pub details: Option<Box<StepDetails>>,
    /// Where its id is written.
    pub span: Span,
}

/// What a step may say of its attempts, and most steps do not.
#[derive(Debug, Clone)]
pub struct StepDetails {
    /// For people.
    pub name: Option<Box<str>>,
    /// Structured input, for specialists and tools.
    pub input: Option<ValueTemplate>,
    /// Bounds of one attempt.
    pub timeout: Timeout,
    /// `retry:`, where given.
    pub retry: Option<RetryPolicy>,
    /// Bound over all attempts of one iteration; `None`: what its rows add up to.
    pub max_attempts: Option<u32>,
    /// Whether it may run again after a crash in the middle of it.
    pub retry_safe: bool,
    /// Environment of its shells, after the playbook's.
    pub env: Vec<(String, Template)>,
    /// Working directory relative to the project root.
    pub cwd: Option<Template>,
    /// `output.schema`.
    pub output_schema: Option<Schema>,
    /// Whether changes around its shells are recorded; `None`: where its checks read changes.
    pub evidence: Option<EvidenceMode>,
    /// Whether it holds the `workspace` lock; `None`: where its specialist has a writing tool.
    pub workspace: Option<WorkspaceMode>,
    /// What it uses that is not built yet.
    pub not_yet: Vec<NotYet>,
}

static NO_DETAILS: StepDetails = StepDetails::NONE;

impl Step {
    /// What it says of its attempts.
    pub fn details(&self) -> &StepDetails {
        self.details.as_deref().unwrap_or(&NO_DETAILS)
    }

    /// The same, to say more.
    pub fn details_mut(&mut self) -> &mut StepDetails {
        self.details.get_or_insert_with(|| Box::new(StepDetails::NONE))
    }
}

impl StepDetails {
    /// Nothing is said.
    pub const NONE: StepDetails = StepDetails {
        name: None,
        input: None,
        timeout: Timeout { attempt: None, idle: None },
        retry: None,
        max_attempts: None,
        retry_safe: true,
        env: Vec::new(),
        cwd: None,
        output_schema: None,
        evidence: None,
        workspace: None,
        not_yet: Vec::new(),
    };

    /// Where anything is said that differs from nothing.
    pub(crate) fn said(self) -> Option<Box<StepDetails>> {
        let StepDetails {
            name: None,
            input: None,
            timeout: Timeout { attempt: None, idle: None },
            retry: None,
            max_attempts: None,
            retry_safe: true,
            env,
            cwd: None,
            output_schema: None,
            evidence: None,
            workspace: None,
            not_yet,
        } = &self
        else {
            return Some(Box::new(self));
        };
        (!env.is_empty() || !not_yet.is_empty()).then(|| Box::new(self))
    }
}

/// The one kind key that a step has.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// An LLM agent with a tool whitelist.
    Specialist {
        /// Which; resolved against the catalog when a plan is made.
        specialist: SpecialistId,
        /// Where that id is written.
        span: Span,
        /// What to do; `None` where `input.task` says it.
        task: Option<Box<TaskText>>,
    },
    /// A process.
    Run {
        /// A literal script or an argv.
        command: RunCommand,
        /// How stdout becomes the output.
        parse: OutputParse,
    },
    /// One tool call.
    Tool {
        /// Which.
        tool: ToolName,
        /// Where that name is written.
        span: Span,
    },
    /// One request.
    Http(Box<HttpStep>),
    /// Pure values, in order.
    Set(ValueMap),
    /// Verification only.
    Gate(Box<[Check]>),
    /// A kind that the language has and this version does not carry out (`ask`, `wait`, …).
    NotYet(&'static str),
}

impl StepKind {
    /// The kind key as people write it.
    pub fn name(&self) -> &'static str {
        match self {
            StepKind::Specialist { .. } => "specialist",
            StepKind::Run { .. } => "run",
            StepKind::Tool { .. } => "tool",
            StepKind::Http(_) => "http",
            StepKind::Set(_) => "set",
            StepKind::Gate(_) => "gate",
            StepKind::NotYet(name) => name,
        }
    }
}

/// `task:` or `taskFile:`.
#[derive(Debug, Clone)]
pub enum TaskText {
    /// A template.
    Inline(Template),
    /// A file inside the project whose text is taken as it is; read when the run starts.
    File {
        /// Relative to the project root.
        path: Box<str>,
        /// Where it is written.
        span: Span,
    },
}

/// `run:`.
#[derive(Debug, Clone)]
pub enum RunCommand {
    /// One literal script for `bash -euo pipefail`; it takes no placeholder.
    Shell(Box<str>),
    /// An argv without a shell; the first word is literal.
    Argv(Box<[Template]>),
}

/// `parse:` of a `run` step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputParse {
    /// stdout without its last newline.
    #[default]
    Text,
    /// One JSON value.
    Json,
    /// A list of lines.
    Lines,
}

/// `http:`.
#[derive(Debug, Clone)]
pub struct HttpStep {
    /// `GET` unless said; upper case.
    pub method: String,
    /// Scheme and host are literal.
    pub url: Template,
    /// In order.
    pub headers: Vec<(String, Template)>,
    /// In order.
    pub query: ValueMap,
    /// Text goes as it is, anything else as JSON.
    pub body: Option<ValueTemplate>,
    /// Statuses that count as done; 200–299 where empty.
    pub expect: Vec<u16>,
}

/// `runIf:` (LANGUAGE §3, joins).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunIf {
    /// Every dependency that matters succeeded.
    #[default]
    AllSucceeded,
    /// None failed; skipped ones do not matter.
    NoneFailed,
    /// At least one succeeded.
    AnySucceeded,
    /// All have ended, however.
    AllDone,
}

/// `onError:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// A failure fails the run.
    #[default]
    Fail,
    /// A failure is tolerated: it keeps its status, joins count it as succeeded.
    Continue,
}

/// `forEach:`.
#[derive(Debug, Clone)]
pub struct ForEach {
    /// The list.
    pub items: ValueTemplate,
    /// What an item is called in templates; `item` unless said.
    pub name: String,
    /// The unique key of an item; its index where absent.
    pub key: Option<Template>,
    /// Items at the same time, under the run's own bound.
    pub max_parallel: Option<u32>,
    /// What one item's failure means for the others.
    pub on_item_error: OnError,
}

/// `evidence:` of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceMode {
    /// Manifests around its shells.
    Full,
    /// None.
    None,
}

/// `workspace:` of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceMode {
    /// One at a time with every other that writes.
    Exclusive,
    /// Beside others.
    Shared,
}

/// When a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepPhase {
    /// One of `steps`.
    #[default]
    Main,
    /// One of `finally`.
    Finally,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_small() {
        assert!(size_of::<Step>() <= 120, "{}", size_of::<Step>());
    }
}
