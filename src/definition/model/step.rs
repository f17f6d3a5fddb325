//! The model of a step: its kind, its dependencies and its attempt options.

use super::{
    ApproveStep, AskStep, Budget, ForEach, Loop, NotYet, OnError, RecoveryRule, RetryPolicy,
    Timeout, Verify, WaitStep,
};
use crate::definition::Schema;
use crate::definition::gate_check::Check;
use crate::diagnostic::Span;
use crate::expression::{Expression, Template, ValueMap, ValueTemplate};
use crate::value::{DefinitionId, SpecialistId, StepId, ToolName};

/// A checked step. The `defaults` of the playbook are already applied. Rarely used options are boxed,
/// because a plan can have many thousand steps.
#[derive(Debug, Clone)]
pub struct Step {
    /// Id, unique in its playbook.
    pub id: StepId,
    /// What the step does.
    pub kind: StepKind,
    /// Whether it is part of `steps` or of `finally`.
    pub phase: StepPhase,
    /// Explicit dependencies, including those of `order: sequential`, with their positions.
    pub depends_on: Box<[(StepId, Span)]>,
    /// `condition:`: the step is skipped if this is false.
    pub condition: Option<Expression>,
    /// `runIf:`: the join over its dependencies.
    pub run_if: RunIf,
    /// `verify:`: the gate after the step.
    pub verify: Option<Box<Verify>>,
    /// `onError:`: what a failure means for the run.
    pub on_error: OnError,
    /// `forEach:` or `matrix:`: one step instance per item.
    pub for_each: Option<Box<ForEach>>,
    /// The other options, if the step has any; read them with [`Step::details`].
    pub details: Option<Box<StepDetails>>,
    /// Position of the id.
    pub span: Span,
}

/// Options of a step that most steps do not set.
#[derive(Debug, Clone)]
pub struct StepDetails {
    /// Display name.
    pub name: Option<Box<str>>,
    /// `input:`: structured input of specialists and tools.
    pub input: Option<ValueTemplate>,
    /// Time limits of one attempt.
    pub timeout: Timeout,
    /// `retry:`; `None`: no retries.
    pub retry: Option<RetryPolicy>,
    /// `recovery:`; `None`: the default table of specialists, no rows for other steps.
    pub recovery: Option<Box<[RecoveryRule]>>,
    /// `budget:` of the step, for all its attempts and items.
    pub budget: Option<Box<Budget>>,
    /// Maximum number of attempts in one iteration. `None`: the sum that the recovery table allows.
    pub max_attempts: Option<u32>,
    /// `loop:`: the step runs again until a condition holds.
    pub repeat: Option<Box<Loop>>,
    /// Whether the step may run again after a crash during an attempt. Default: true.
    pub retry_safe: bool,
    /// Environment variables of its processes; they override those of the playbook.
    pub env: Vec<(String, Template)>,
    /// Working directory, relative to the project root.
    pub cwd: Option<Template>,
    /// `output.schema`: schema that the output must satisfy.
    pub output_schema: Option<Schema>,
    /// Whether file changes of its processes are recorded. `None`: only if its checks need them.
    pub evidence: Option<EvidenceMode>,
    /// Whether it takes the `workspace` lock. `None`: only if its specialist has a writing tool.
    pub workspace: Option<WorkspaceMode>,
    /// Features used here that are not supported yet. A run is refused if there are any.
    pub not_yet: Vec<NotYet>,
}

static NO_DETAILS: StepDetails = StepDetails::NONE;

impl Step {
    /// The options, or the defaults if none is set.
    pub fn details(&self) -> &StepDetails {
        self.details.as_deref().unwrap_or(&NO_DETAILS)
    }

    /// The checks of its gate: its own ones, or those of `verify`.
    pub fn checks(&self) -> &[Check] {
        let verify = self.verify.as_ref().map_or(&[][..], |verify| verify.checks.as_slice());
        self.kind.checks().unwrap_or(verify)
    }

    /// The options for writing; creates them with defaults if none is set.
    pub fn details_mut(&mut self) -> &mut StepDetails {
        self.details.get_or_insert_with(|| Box::new(StepDetails::NONE))
    }
}

impl StepDetails {
    /// The defaults.
    pub const NONE: StepDetails = StepDetails {
        name: None,
        input: None,
        timeout: Timeout { attempt: None, idle: None },
        retry: None,
        recovery: None,
        budget: None,
        max_attempts: None,
        repeat: None,
        retry_safe: true,
        env: Vec::new(),
        cwd: None,
        output_schema: None,
        evidence: None,
        workspace: None,
        not_yet: Vec::new(),
    };

    /// The options boxed, or `None` if all have their defaults.
    pub(crate) fn non_default(self) -> Option<Box<StepDetails>> {
        let StepDetails {
            name: None,
            input: None,
            timeout: Timeout { attempt: None, idle: None },
            retry: None,
            recovery: None,
            budget: None,
            max_attempts: None,
            repeat: None,
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

/// The kind of a step, named by its kind key.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// An LLM specialist with an allow-list of tools.
    Specialist {
        /// Id of the specialist; resolved when the plan is built.
        specialist: SpecialistId,
        /// Position of the id.
        span: Span,
        /// The task; `None` if `input.task` contains it.
        task: Option<Box<TaskText>>,
    },
    /// A shell script or program.
    Run {
        /// The script, or program and arguments.
        command: RunCommand,
        /// How stdout is parsed into the output.
        parse: OutputParse,
    },
    /// One tool call.
    Tool {
        /// Name of the tool.
        tool: ToolName,
        /// Position of the name.
        span: Span,
    },
    /// One HTTP request.
    Http(Box<HttpStep>),
    /// Values computed from expressions, in the order of the file.
    Set(ValueMap),
    /// Checks without other work.
    Gate(Box<[Check]>),
    /// A question to a person.
    Ask(Box<AskStep>),
    /// A request for approval.
    Approve(Box<ApproveStep>),
    /// A durable timer.
    Wait(Box<WaitStep>),
    /// A child run of another playbook or workflow.
    Playbook(Box<PlaybookStep>),
}

/// `playbook:`: a child run and its parameters.
#[derive(Debug, Clone)]
pub struct PlaybookStep {
    /// Id of the playbook or workflow; resolved when the plan is built.
    pub playbook: DefinitionId,
    /// Position of the id.
    pub span: Span,
    /// `with:`: values of its parameters, in the order of the file.
    pub with: Vec<ChildParam>,
}

/// One entry of `with:`.
#[derive(Debug, Clone)]
pub struct ChildParam {
    /// Name of the parameter.
    pub name: String,
    /// Position of the name.
    pub name_span: Span,
    /// Value of the parameter.
    pub value: ValueTemplate,
    /// Position of the value.
    pub value_span: Span,
}

/// `task:` or `taskFile:`: the task of a specialist.
#[derive(Debug, Clone)]
pub enum TaskText {
    /// A text with placeholders.
    Inline(Template),
    /// A file of the project, read when the run starts; its text has no placeholders.
    File {
        /// Path relative to the project root.
        path: Box<str>,
        /// Position of the path.
        span: Span,
    },
}

/// `run:`: what a `run` step executes.
#[derive(Debug, Clone)]
pub enum RunCommand {
    /// One literal script for `bash -euo pipefail`, without placeholders.
    Shell(Box<str>),
    /// Program and arguments, without a shell; the program is literal.
    Argv(Box<[Template]>),
}

/// `parse:` of a `run` step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputParse {
    /// The text of stdout without its last newline.
    #[default]
    Text,
    /// One JSON value, parsed from stdout.
    Json,
    /// The lines of stdout as a list.
    Lines,
}

/// `http:`: the request of an `http` step.
#[derive(Debug, Clone)]
pub struct HttpStep {
    /// Method in upper case. Default: `GET`.
    pub method: String,
    /// URL; scheme and host are literal.
    pub url: Template,
    /// Request headers, in the order of the file.
    pub headers: Vec<(String, Template)>,
    /// Query parameters, in the order of the file.
    pub query: ValueMap,
    /// Request body; text is sent as it is, other values as JSON.
    pub body: Option<ValueTemplate>,
    /// Statuses that count as success; empty: 200–299.
    pub expect: Vec<u16>,
}

/// `runIf:`: the join over the dependencies that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunIf {
    /// Every dependency succeeded.
    #[default]
    AllSucceeded,
    /// No dependency failed; skipped ones do not matter.
    NoneFailed,
    /// At least one dependency succeeded.
    AnySucceeded,
    /// All dependencies have ended, with any status.
    AllDone,
}

/// `evidence:`: whether file changes of a step are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceMode {
    /// Manifests are taken before and after its processes.
    Full,
    /// No manifests are taken.
    None,
}

/// `workspace:`: whether a step takes the `workspace` lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceMode {
    /// The step takes the lock and excludes other writing steps.
    Exclusive,
    /// The step runs in parallel with other writing steps.
    Shared,
}

/// The list that a step is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepPhase {
    /// `steps`.
    #[default]
    Main,
    /// `finally`.
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
