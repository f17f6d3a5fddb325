//! How a step is executed, independent of its kind. The state machine and the engine match these types
//! instead of step kinds.

use super::answer::AnswerRule;
use crate::definition::gate_check::Check;
use crate::definition::keys::choices;
use crate::expression::{EvalError, Scope, Template};
use kb_base::diagnostic::Span;
use kb_base::value::{DefinitionId, Json, SpecialistId, StepId};
use std::time::Duration;

/// How a step of a kind is executed.
#[derive(Clone, Copy)]
pub enum Execution<'a> {
    /// An attempt of a specialist, with a slot. Its claims are checked.
    Specialist(&'a SpecialistId),
    /// An attempt that drives a child run.
    Child(&'a DefinitionId),
    /// An attempt with a slot.
    Attempt(Effects),
    /// The engine computes the output; nothing outside changes.
    Compute(&'a dyn Compute),
    /// Its gate is its only work.
    Gate(&'a [Check]),
    /// It waits for a person, without a slot.
    Ask(Ask<'a>),
    /// It waits for a moment, without a slot.
    Wait(Moment<'a>),
}

/// What an attempt can do outside of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effects {
    /// Whether it calls a tool that changes files.
    pub writes: bool,
    /// Whether it runs a program, whose changes to files are unknown.
    pub runs_program: bool,
    /// Whether it can send a request that must not be sent twice.
    pub sends_request: bool,
    /// Whether its output comes from neither the files nor the commands of the run: from a server, or from what earlier
    /// runs left.
    pub reads_others: bool,
    /// Whether it starts processes, itself or as a tool.
    pub starts_processes: bool,
}

/// A computation of the engine.
pub trait Compute {
    /// The output of the step.
    fn compute(&self, scope: &dyn Scope) -> Result<Json, EvalError>;
}

/// What a step asks a person, and what follows without a reply.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The question or the request.
    pub text: &'a Template,
    /// The accepted answers. `None`: the person approves or rejects.
    pub answer: Option<&'a AnswerRule>,
    /// How long it waits; without a limit where absent.
    pub timeout: Option<Duration>,
    /// What follows when the timeout passes without a reply. An answer is the default one.
    pub on_timeout: OnTimeout,
    /// What follows a rejection by a person; without it the step fails.
    pub on_reject: Option<&'a OnReject>,
}

/// The step that a rejection by a person sends the work back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnReject {
    /// The earlier step that starts again.
    pub step: StepId,
    /// Position of its id.
    pub span: Span,
    /// How often a rejection sends the work back; after that it fails the step.
    pub max: u32,
}

choices! {
    /// What follows when the timeout of a question passes without a reply.
    #[derive(Default)]
    pub enum OnTimeout {
        /// As if a person had approved.
        Approve = "approve",
        /// As if a person had rejected.
        Reject = "reject",
        /// The step fails with a timeout.
        #[default]
        Fail = "fail",
    }
}

/// The moment that a step waits for.
#[derive(Debug, Clone, Copy)]
pub enum Moment<'a> {
    /// This long after the start of the step.
    After(Duration),
    /// A moment in RFC 3339.
    At(&'a Template),
}

/// What is known about the output of a step before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputForm<'a> {
    /// An object with these keys.
    Keys(Vec<&'a str>),
    /// A string, which has no keys.
    Text,
    /// As the specialist declares it.
    OfSpecialist,
    /// The outputs of the child run.
    OfChild,
    /// A value of unknown form.
    Any,
}
