//! The properties of step kinds. The matches are exhaustive, so the compiler lists them for a new kind.

use super::{
    Ask, Compute, Effects, Execution, Moment, OnTimeout, OutputForm, OutputParse, RunCommand,
    StepKind, TaskText, WaitStep,
};
use crate::definition::gate_check::Check;
use crate::expression::{EvalError, Reference, Scope, Template, ValueMap};
use crate::toolspec;
use crate::value::{DefinitionId, Json, SpecialistId, format_duration, one_line};

impl StepKind {
    /// The kind key.
    pub fn name(&self) -> &'static str {
        match self {
            StepKind::Specialist { .. } => "specialist",
            StepKind::Run { .. } => "run",
            StepKind::Tool { .. } => "tool",
            StepKind::Http(_) => "http",
            StepKind::Set(_) => "set",
            StepKind::Gate(_) => "gate",
            StepKind::Ask(_) => "ask",
            StepKind::Approve(_) => "approve",
            StepKind::Wait(_) => "wait",
            StepKind::Playbook(_) => "playbook",
        }
    }

    /// How a step of this kind is executed.
    pub fn execution(&self) -> Execution<'_> {
        match self {
            StepKind::Specialist { specialist, .. } => Execution::Specialist(specialist),
            StepKind::Run { .. } => {
                Execution::Attempt(Effects { runs_program: true, ..Effects::default() })
            }
            StepKind::Tool { tool, .. } => {
                let spec = toolspec::find(tool.as_str());
                Execution::Attempt(Effects {
                    writes: spec.is_some_and(|spec| spec.writes),
                    runs_program: false,
                    // The method may be known only when the tool is called.
                    sends_request: spec.is_some_and(|spec| spec.network),
                })
            }
            StepKind::Http(http) => Execution::Attempt(Effects {
                sends_request: http.method != "GET",
                ..Effects::default()
            }),
            StepKind::Set(values) => Execution::Compute(values),
            StepKind::Gate(checks) => Execution::Gate(checks),
            StepKind::Ask(ask) => Execution::Ask(Ask {
                text: &ask.question,
                answer: Some(&ask.answer),
                timeout: ask.timeout,
                on_timeout: match ask.answer.default {
                    Some(_) => OnTimeout::Approve,
                    None => OnTimeout::Fail,
                },
            }),
            StepKind::Approve(approve) => Execution::Ask(Ask {
                text: &approve.message,
                answer: None,
                timeout: approve.timeout,
                on_timeout: approve.on_timeout,
            }),
            StepKind::Wait(wait) => Execution::Wait(match &**wait {
                WaitStep::For(duration) => Moment::After(*duration),
                WaitStep::Until(time) => Moment::At(time),
            }),
            StepKind::Playbook(call) => Execution::Child(&call.playbook),
        }
    }

    /// The references in the texts of the work, one list per text. All of them create dependencies,
    /// including those in the checks of a `gate` step.
    pub fn references(&self) -> Vec<Vec<&Reference>> {
        match self {
            StepKind::Specialist { task, .. } => match task.as_deref() {
                Some(TaskText::Inline(task)) => vec![task.references().collect()],
                Some(TaskText::File { .. }) | None => Vec::new(),
            },
            StepKind::Run { command: RunCommand::Argv(words), .. } => {
                words.iter().map(|word| word.references().collect()).collect()
            }
            StepKind::Run { command: RunCommand::Shell(..), .. } => Vec::new(),
            StepKind::Tool { .. } => Vec::new(),
            StepKind::Http(http) => {
                let mut texts = vec![http.url.references().collect()];
                texts.extend(http.headers.iter().map(|(_, value)| value.references().collect()));
                texts.extend(http.query.iter().map(|(_, value)| value.references()));
                texts.extend(http.body.iter().map(|body| body.references()));
                texts
            }
            StepKind::Set(values) => values.iter().map(|(_, value)| value.references()).collect(),
            StepKind::Gate(checks) => checks.iter().flat_map(|check| check.references()).collect(),
            StepKind::Ask(ask) => vec![ask.question.references().collect()],
            StepKind::Approve(approve) => vec![approve.message.references().collect()],
            StepKind::Wait(wait) => match &**wait {
                WaitStep::Until(time) => vec![time.references().collect()],
                WaitStep::For(_) => Vec::new(),
            },
            StepKind::Playbook(call) => {
                call.with.iter().map(|given| given.value.references()).collect()
            }
        }
    }

    /// The output of a step without `output.schema`.
    pub fn output(&self) -> OutputForm<'_> {
        match self {
            StepKind::Specialist { .. } => OutputForm::OfSpecialist,
            StepKind::Run { parse: OutputParse::Text, .. } => OutputForm::Text,
            StepKind::Run { parse: OutputParse::Lines | OutputParse::Json, .. } => OutputForm::Any,
            StepKind::Tool { .. } => OutputForm::Any,
            StepKind::Http(_) => OutputForm::Keys(vec!["status", "headers", "body"]),
            StepKind::Set(values) => {
                OutputForm::Keys(values.iter().map(|(key, _)| &**key).collect())
            }
            StepKind::Gate(_) => OutputForm::Keys(vec!["verdict", "checks"]),
            StepKind::Ask(ask) if ask.answer.schema.is_none() => OutputForm::Text,
            StepKind::Ask(_) => OutputForm::Any,
            StepKind::Approve(_) => OutputForm::Keys(vec!["approved", "by", "comment"]),
            StepKind::Wait(_) => OutputForm::Any,
            StepKind::Playbook(_) => OutputForm::OfChild,
        }
    }

    /// What does the work, for drawings: the specialist, tool, program, HTTP method or time.
    pub fn worker(&self) -> String {
        let literal = |text: Option<&str>| one_line(text.unwrap_or("…"), 24);
        match self {
            StepKind::Specialist { specialist, .. } => specialist.to_string(),
            StepKind::Tool { tool, .. } => tool.to_string(),
            StepKind::Playbook(call) => call.playbook.to_string(),
            StepKind::Http(http) => http.method.clone(),
            StepKind::Run { command: RunCommand::Argv(words), .. } => {
                literal(words.first().and_then(|word| word.as_literal()))
            }
            StepKind::Wait(wait) => match &**wait {
                WaitStep::For(duration) => format_duration(*duration),
                WaitStep::Until(time) => format!("until {}", literal(time.as_literal())),
            },
            StepKind::Run { command: RunCommand::Shell(..), .. }
            | StepKind::Set(_)
            | StepKind::Gate(_)
            | StepKind::Ask(_)
            | StepKind::Approve(_) => String::new(),
        }
    }

    /// The kind with what the step does, in a few words, such as `run cargo …`.
    pub fn summary(&self) -> String {
        match self {
            StepKind::Specialist { .. }
            | StepKind::Tool { .. }
            | StepKind::Http(_)
            | StepKind::Playbook(_) => format!("{} {}", self.name(), self.worker()),
            StepKind::Run { command: RunCommand::Shell(script), .. } => {
                let first = script.trim().lines().next().unwrap_or_default();
                let more = if script.trim().lines().count() > 1 { " …" } else { "" };
                format!("run {}{more}", cut(first, 40))
            }
            StepKind::Run { command: RunCommand::Argv(words), .. } => {
                let program = words.first().and_then(|word| word.as_literal()).unwrap_or_default();
                format!("run {program} …")
            }
            StepKind::Set(values) => {
                let names: Vec<&str> = values.iter().map(|(name, _)| &**name).collect();
                format!("set {}", names.join(", "))
            }
            StepKind::Gate(checks) => {
                let names: Vec<&str> = checks.iter().map(Check::name).collect();
                format!("gate {}", names.join(", "))
            }
            StepKind::Ask(ask) => named("ask", &ask.question),
            StepKind::Approve(approve) => named("approve", &approve.message),
            StepKind::Wait(wait) => match &**wait {
                WaitStep::For(duration) => format!("wait {}", format_duration(*duration)),
                WaitStep::Until(time) => named("wait until", time),
            },
        }
    }
}

/// What follows from the execution.
impl StepKind {
    /// The specialist of a `specialist` step.
    pub fn specialist(&self) -> Option<&SpecialistId> {
        match self.execution() {
            Execution::Specialist(id) => Some(id),
            Execution::Child(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Gate(_)
            | Execution::Ask(_)
            | Execution::Wait(_) => None,
        }
    }

    /// The playbook of a step that drives a child run.
    pub fn child(&self) -> Option<&DefinitionId> {
        match self.execution() {
            Execution::Child(id) => Some(id),
            Execution::Specialist(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Gate(_)
            | Execution::Ask(_)
            | Execution::Wait(_) => None,
        }
    }

    /// The checks of a step that consists of its gate.
    pub fn checks(&self) -> Option<&[Check]> {
        match self.execution() {
            Execution::Gate(checks) => Some(checks),
            Execution::Specialist(_)
            | Execution::Child(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Ask(_)
            | Execution::Wait(_) => None,
        }
    }

    /// What a step that waits for a person asks.
    pub fn question(&self) -> Option<Ask<'_>> {
        match self.execution() {
            Execution::Ask(ask) => Some(ask),
            Execution::Specialist(_)
            | Execution::Child(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Gate(_)
            | Execution::Wait(_) => None,
        }
    }

    /// What an attempt does outside, apart from specialists and child runs.
    pub fn effects(&self) -> Effects {
        match self.execution() {
            Execution::Attempt(effects) => effects,
            Execution::Specialist(_)
            | Execution::Child(_)
            | Execution::Compute(_)
            | Execution::Gate(_)
            | Execution::Ask(_)
            | Execution::Wait(_) => Effects::default(),
        }
    }

    /// Whether a specialist does the work, so that claims are checked and reworks are possible.
    pub fn is_specialist(&self) -> bool {
        self.specialist().is_some()
    }

    /// Whether it waits for a person.
    pub fn needs_person(&self) -> bool {
        self.question().is_some()
    }

    /// Whether it waits for a person or a time, and so holds no slot.
    pub fn is_waiting(&self) -> bool {
        match self.execution() {
            Execution::Ask(_) | Execution::Wait(_) => true,
            Execution::Specialist(_)
            | Execution::Child(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Gate(_) => false,
        }
    }

    /// The task of a specialist step, if it is not in `input`.
    pub fn task(&self) -> Option<&TaskText> {
        match self {
            StepKind::Specialist { task, .. } => task.as_deref(),
            StepKind::Run { .. }
            | StepKind::Tool { .. }
            | StepKind::Http(_)
            | StepKind::Set(_)
            | StepKind::Gate(_)
            | StepKind::Ask(_)
            | StepKind::Approve(_)
            | StepKind::Wait(_)
            | StepKind::Playbook(_) => None,
        }
    }
}

impl Compute for ValueMap {
    fn compute(&self, scope: &dyn Scope) -> Result<Json, EvalError> {
        let values =
            self.iter().map(|(name, value)| Ok((name.to_string(), value.evaluate(scope)?)));
        values.collect::<Result<_, EvalError>>().map(Json::Object)
    }
}

/// A kind with its text, where the text is literal.
fn named(kind: &str, text: &Template) -> String {
    match text.as_literal() {
        Some(text) => format!("{kind} {}", cut(text, 40)),
        None => kind.to_owned(),
    }
}

/// The first characters of a text, with a mark where some are missing.
fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
