//! Opens steps of waiting kinds: renders questions and computes the moments that they wait for.

use super::attempts;
use super::dispatcher::Dispatcher;
use super::scope::RunScope;
use crate::attempt::Outcome;
use crate::clock;
use crate::definition::{StepKind, WaitStep};
use crate::diagnostic::Code;
use crate::expression::EvalError;
use crate::run::{Input, InstanceIx, Question, QuestionKind, Wait};
use crate::value::{Failure, OutcomeKind, Timestamp};

impl Dispatcher {
    /// The input that opens a waiting step; nothing for a step of another kind.
    pub(super) fn open_wait(
        &self,
        instance: InstanceIx,
        iteration: u32,
        attempt: u32,
    ) -> Option<Input> {
        let kind = &self.setup.plan.step(self.folded.state.instance(instance).step).step.kind;
        let scope = self.scope(Some(instance));
        let wait = scope.whole(wait(&scope, kind, clock::now())?);
        Some(match wait {
            Ok(wait) => {
                let wait = self.masked_wait(wait);
                Input::WaitOpened { instance, iteration, attempt, wait }
            }
            Err(failure) => {
                let outcome = Outcome::failed(OutcomeKind::ToolError, *failure);
                let report = attempts::report(outcome, &self.parts.redactor);
                Input::AttemptEnded { instance, iteration, attempt, report }
            }
        })
    }

    fn masked_wait(&self, wait: Wait) -> Wait {
        match wait {
            Wait::Person(question) => Wait::Person(Question {
                text: self.parts.redactor.mask_text(&question.text).into_owned(),
                ..question
            }),
            Wait::Until(due) => Wait::Until(due),
        }
    }
}

fn wait(scope: &RunScope<'_>, kind: &StepKind, now: Timestamp) -> Option<Result<Wait, EvalError>> {
    Some(match kind {
        StepKind::Ask(ask) => ask.question.render(scope).map(|text| {
            Wait::Person(Question {
                kind: QuestionKind::Ask,
                text,
                options: ask.options.clone(),
                schema: ask.schema.as_ref().map(|schema| schema.json().clone()),
                default: ask.default.clone(),
                due: ask.timeout.map(|timeout| now.after(timeout)),
            })
        }),
        StepKind::Approve(approve) => approve.message.render(scope).map(|text| {
            Wait::Person(Question {
                kind: QuestionKind::Approve,
                text,
                options: Vec::new(),
                schema: None,
                default: None,
                due: approve.timeout.map(|timeout| now.after(timeout)),
            })
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
        | StepKind::NotYet(_) => return None,
    })
}

fn not_a_time(text: &str) -> EvalError {
    let shown: String = text.chars().take(60).collect();
    let failure = Failure::new(Code::NOT_A_TIME.as_str(), format!("`{shown}` is not a time"))
        .help("give a time with its zone, such as `2026-11-23T09:00:00Z`");
    Box::new(failure)
}
