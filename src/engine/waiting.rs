//! Starts the steps that wait: renders their questions and computes the times that they wait for.

use super::context::{Attempt, RunContext};
use super::report;
use super::scope::RunScope;
use crate::attempt::Outcome;
use crate::clock;
use crate::definition::{StepKind, WaitStep};
use crate::diagnostic::Code;
use crate::expression::EvalError;
use crate::run::{Input, Question, QuestionKind, State, Wait};
use crate::value::{Failure, OutcomeKind, Timestamp};

/// The input that opens a waiting step; `None` for a step of another kind.
pub(super) fn open(context: &RunContext, state: &State, work: Attempt) -> Option<Input> {
    let Attempt { instance, iteration, attempt } = work;
    let kind = &context.planned(state, instance).step.kind;
    let scope = context.scope(state, Some(instance));
    let redactor = &context.parts.redactor;
    Some(match scope.check_reads(wait(&scope, kind, clock::now())?) {
        Ok(wait) => {
            let wait = redactor.mask(wait);
            Input::WaitOpened { instance, iteration, attempt, wait }
        }
        Err(failure) => {
            let outcome = Outcome::failed(OutcomeKind::ToolError, *failure);
            let report = report::report(outcome, redactor);
            Input::AttemptEnded { instance, iteration, attempt, report }
        }
    })
}

fn wait(scope: &RunScope<'_>, kind: &StepKind, now: Timestamp) -> Option<Result<Wait, EvalError>> {
    Some(match kind {
        StepKind::Ask(ask) => ask.question.render(scope).map(|text| {
            Wait::Person(Box::new(Question {
                kind: QuestionKind::Ask,
                text,
                options: ask.options.clone(),
                schema: ask.schema.as_ref().map(|schema| schema.json().clone()),
                default: ask.default.clone(),
                due: ask.timeout.map(|timeout| now.after(timeout)),
            }))
        }),
        StepKind::Approve(approve) => approve.message.render(scope).map(|text| {
            Wait::Person(Box::new(Question {
                kind: QuestionKind::Approve,
                text,
                options: Vec::new(),
                schema: None,
                default: None,
                due: approve.timeout.map(|timeout| now.after(timeout)),
            }))
        }),
        StepKind::Wait(wait) => match &**wait {
            WaitStep::For(duration) => Ok(Wait::Until(now.after(*duration))),
            WaitStep::Until(time) => time.render(scope).and_then(|text| {
                Timestamp::parse(&text).map(Wait::Until).ok_or_else(|| not_a_time(&text))
            }),
        },
        StepKind::Specialist { .. }
        | StepKind::Run { .. }
        | StepKind::Tool { .. }
        | StepKind::Http(_)
        | StepKind::Set(_)
        | StepKind::Gate(_)
        | StepKind::Playbook(_) => return None,
    })
}

fn not_a_time(text: &str) -> EvalError {
    let shown: String = text.chars().take(60).collect();
    let failure = Failure::new(Code::NOT_A_TIME.as_str(), format!("`{shown}` is not a time"))
        .help("give a time with its zone, such as `2026-11-23T09:00:00Z`");
    Box::new(failure)
}
