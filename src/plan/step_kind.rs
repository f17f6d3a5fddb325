//! Everything that the plan knows about step kinds. The matches are exhaustive, so the compiler lists
//! them for a new kind.

use crate::definition::{
    OutputParse, Playbook, RunCommand, Schema, Specialist, Step, StepKind, TaskText, WaitStep,
};
use crate::expression::Reference;
use crate::toolspec;
use crate::value::format_duration;
use std::sync::Arc;

/// The references in the texts of the work, one list per text. All of them create dependencies,
/// including those in the checks of a `gate` step.
pub(super) fn references(kind: &StepKind) -> Vec<Vec<&Reference>> {
    match kind {
        StepKind::Specialist { task, .. } => match task.as_deref() {
            Some(TaskText::Inline(task)) => vec![task.references().collect()],
            Some(TaskText::File { .. }) | None => Vec::new(),
        },
        StepKind::Run { command, .. } => match command {
            RunCommand::Argv(words) => {
                words.iter().map(|word| word.references().collect()).collect()
            }
            RunCommand::Shell(..) => Vec::new(),
        },
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
        StepKind::Tool { .. } => Vec::new(),
    }
}

/// What does the work, for drawings: the specialist, tool, program, HTTP method or time.
pub(super) fn worker(kind: &StepKind) -> String {
    let literal = |text: Option<&str>| super::graph::one_line(text.unwrap_or("…"), 24);
    match kind {
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

/// Whether the step can change files: a specialist with a writing tool, or a call of one.
pub(super) fn writes(kind: &StepKind, specialist: Option<&Specialist>) -> bool {
    match kind {
        StepKind::Specialist { .. } => specialist.is_some_and(Specialist::writes),
        StepKind::Tool { tool, .. } => {
            toolspec::find(tool.as_str()).is_some_and(|spec| spec.writes)
        }
        StepKind::Run { .. }
        | StepKind::Http(_)
        | StepKind::Set(_)
        | StepKind::Gate(_)
        | StepKind::Ask(_)
        | StepKind::Approve(_)
        | StepKind::Wait(_)
        | StepKind::Playbook(_) => false,
    }
}

/// Whether the step runs a shell script or program, whose changes to files are unknown.
pub(super) fn runs_shell(kind: &StepKind) -> bool {
    match kind {
        StepKind::Run { .. } => true,
        StepKind::Specialist { .. }
        | StepKind::Tool { .. }
        | StepKind::Http(_)
        | StepKind::Set(_)
        | StepKind::Gate(_)
        | StepKind::Ask(_)
        | StepKind::Approve(_)
        | StepKind::Wait(_)
        | StepKind::Playbook(_) => false,
    }
}

/// What is known about the output of a step before it runs.
pub(super) enum Output<'a> {
    /// It satisfies a schema. Specialists add a `summary`.
    Schema { schema: &'a Schema, summary: bool },
    /// An object with these keys.
    Keys(Vec<&'a str>),
    /// A string, which has no keys.
    Text,
    /// The output of a specialist without a schema.
    Undescribed,
    /// Any value.
    Open,
}

impl<'a> Output<'a> {
    /// `child` is the playbook of a child run.
    pub(super) fn of(
        step: &'a Step,
        specialist: Option<&'a Arc<Specialist>>,
        child: Option<&'a Playbook>,
    ) -> Output<'a> {
        if step.for_each.is_some() {
            return Output::Open;
        }
        let own = step.details().output_schema.as_ref();
        match (&step.kind, own) {
            (StepKind::Specialist { .. }, own) => of_specialist(own, specialist),
            (_, Some(schema)) => Output::Schema { schema, summary: false },
            (StepKind::Playbook(_), None) => of_child(child),
            (kind, None) => of_kind(kind),
        }
    }
}

fn of_specialist<'a>(
    own: Option<&'a Schema>,
    specialist: Option<&'a Arc<Specialist>>,
) -> Output<'a> {
    let declared = specialist.and_then(|specialist| specialist.output_schema.as_ref());
    match (own.or(declared), specialist) {
        (Some(schema), _) => Output::Schema { schema, summary: true },
        (None, Some(_)) => Output::Undescribed,
        // A specialist that cannot be loaded is reported elsewhere.
        (None, None) => Output::Open,
    }
}

/// The output of a child run has exactly the outputs of its playbook.
fn of_child(child: Option<&Playbook>) -> Output<'_> {
    // A child that cannot be used is reported elsewhere.
    let Some(child) = child else { return Output::Open };
    Output::Keys(child.outputs.iter().map(|(key, _)| &**key).collect())
}

/// The output of a step without a schema.
fn of_kind(kind: &StepKind) -> Output<'_> {
    match kind {
        StepKind::Run { parse: OutputParse::Text, .. } => Output::Text,
        StepKind::Http(_) => Output::Keys(vec!["status", "headers", "body"]),
        StepKind::Set(values) => Output::Keys(values.iter().map(|(key, _)| &**key).collect()),
        StepKind::Gate(_) => Output::Keys(vec!["verdict", "checks"]),
        StepKind::Approve(_) => Output::Keys(vec!["approved", "by", "comment"]),
        StepKind::Ask(ask) if ask.schema.is_none() => Output::Text,
        StepKind::Run { parse: OutputParse::Lines | OutputParse::Json, .. }
        | StepKind::Specialist { .. }
        | StepKind::Ask(_)
        | StepKind::Wait(_)
        | StepKind::Tool { .. }
        | StepKind::Playbook(_) => Output::Open,
    }
}
