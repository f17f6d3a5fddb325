//! Starts the steps that wait: renders their questions and computes the times that they wait for.

use super::attempt::Attempt;
use super::context::RunContext;
use super::report;
use super::scope::RunScope;
use kb_attempt::Outcome;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, OutcomeKind, Timestamp};
use kb_core::run::{Input, Question, QuestionKind, State, Wait};
use kb_language::definition::{Ask, Execution, Moment};
use kb_language::expression::EvalError;

/// The input that opens a waiting step; `None` for a step that does not wait.
pub(super) fn open(context: &RunContext, state: &State, work: Attempt) -> Option<Input> {
    let Attempt { instance, iteration, attempt } = work;
    let scope = context.scope(state, Some(instance));
    let redactor = &context.parts.redactor;
    let now = context.parts.clock.now();
    let wait = match context.planned(state, instance).step.kind.execution() {
        Execution::Ask(ask) => {
            question(&scope, ask, now).map(|found| Wait::Person(Box::new(found)))
        }
        Execution::Wait(moment) => until(&scope, moment, now).map(Wait::Until),
        Execution::Specialist(_)
        | Execution::Child(_)
        | Execution::Attempt(_)
        | Execution::Compute(_)
        | Execution::Gate(_) => return None,
    };
    Some(match scope.check_reads(wait) {
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

fn question(scope: &RunScope<'_>, ask: Ask<'_>, now: Timestamp) -> Result<Question, EvalError> {
    let text = ask.text.render(scope)?;
    let kind = if ask.answer.is_some() { QuestionKind::Ask } else { QuestionKind::Approve };
    let answer = ask.answer.cloned().unwrap_or_default();
    Ok(Question {
        kind,
        text,
        options: answer.options,
        schema: answer.schema.map(|schema| Box::new(schema.json().clone())),
        default: answer.default.map(Box::new),
        due: ask.timeout.map(|timeout| now.after(timeout)),
        call: None,
    })
}

fn until(scope: &RunScope<'_>, moment: Moment<'_>, now: Timestamp) -> Result<Timestamp, EvalError> {
    match moment {
        Moment::After(duration) => Ok(now.after(duration)),
        Moment::At(time) => {
            let text = time.render(scope)?;
            Timestamp::parse(&text).ok_or_else(|| not_a_time(&text))
        }
    }
}

fn not_a_time(text: &str) -> EvalError {
    let shown: String = text.chars().take(60).collect();
    let failure = Failure::new(Code::NOT_A_TIME, format!("`{shown}` is not a time"))
        .help("give a time with its zone, such as `2026-11-23T09:00:00Z`");
    Box::new(failure)
}
