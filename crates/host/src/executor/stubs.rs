//! [`Stubs`]: results in place of the execution of steps, for tests of playbooks.

use kb_attempt::{Context, Outcome, Request};
use kb_base::diagnostic::Code;
use kb_base::value::{AttemptName, Failure, OutcomeKind};
use kb_clock::RunClock;
use kb_language::definition::Stub;
use std::collections::BTreeMap;

/// Results in place of the execution of steps, by the names of their attempts. Of several results, an attempt
/// has the one with its number, or the last one.
#[derive(Debug, Clone, Default)]
pub struct Stubs(pub BTreeMap<String, Vec<Stub>>);

impl Stubs {
    /// The result of an attempt; `None` if it is to be executed.
    pub(super) fn result_of(&self, request: &Request) -> Option<Stub> {
        let stubs = self.0.iter().map(|(name, results)| (name.as_str(), results));
        let (_, results) = AttemptName::most_exact(stubs, &request.place())?;
        let index = request.attempt.max(1) as usize - 1;
        results.get(index).or_else(|| results.last()).cloned()
    }
}

/// Waits for the duration of a stub and returns its outcome.
pub(super) async fn play(
    stub: Stub,
    clock: &RunClock,
    request: &Request,
    context: &Context,
) -> Outcome {
    let delay = stub.delay.unwrap_or_default();
    let limit = request.timeout.filter(|limit| *limit < delay);
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => {
            return failed(OutcomeKind::Cancelled, Code::ATTEMPT_FAILED, "cancelled".to_owned());
        }
        () = clock.sleep(limit.unwrap_or(delay)) => {}
    }
    if let Some(limit) = limit {
        let message =
            format!("the attempt took longer than {}", kb_base::value::format_duration(limit));
        return failed(OutcomeKind::Timeout, Code::TIMED_OUT, message);
    }
    let exit_code = stub.exit_code.map(|code| code as i32);
    let outcome = match stub.error {
        None => Outcome::ok(stub.output.unwrap_or_default()),
        Some(message) => {
            let by_code = || exit_code.map_or(OutcomeKind::ToolError, OutcomeKind::Exit);
            let kind = stub.kind.unwrap_or_else(by_code);
            failed(kind, code_of(kind), message)
        }
    };
    Outcome { exit_code, ..outcome }
}

fn failed(kind: OutcomeKind, code: Code, message: String) -> Outcome {
    Outcome::failed(kind, Failure::new(code, message))
}

fn code_of(kind: OutcomeKind) -> Code {
    match kind {
        OutcomeKind::Exit(_) => Code::NON_ZERO_EXIT,
        OutcomeKind::Timeout => Code::TIMED_OUT,
        OutcomeKind::ValidationFailed => Code::BAD_OUTPUT,
        OutcomeKind::Ok
        | OutcomeKind::Transient
        | OutcomeKind::ToolError
        | OutcomeKind::GateFailed
        | OutcomeKind::GateInconclusive
        | OutcomeKind::GateUnchecked
        | OutcomeKind::Stuck
        | OutcomeKind::PolicyDenied
        | OutcomeKind::Cancelled
        | OutcomeKind::Unknown => Code::ATTEMPT_FAILED,
    }
}
