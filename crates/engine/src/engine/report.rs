//! The report of an attempt for the state machine.

use kb_attempt::Outcome;
use kb_core::evidence::{AttemptStreams, Payload};
use kb_core::redaction::{Masked, Redactor};
use kb_core::run::AttemptReport;

/// The masked report of an outcome.
pub(super) fn report(outcome: Outcome, redactor: &Redactor) -> Masked<AttemptReport> {
    redactor.mask(outcome).map(report_of)
}

fn report_of(outcome: Outcome) -> AttemptReport {
    let is_process =
        outcome.exit_code.is_some() || outcome.stdout.is_some() || outcome.stderr.is_some();
    let streams = is_process.then(|| {
        let [stdout_cut, stderr_cut] = outcome.cut;
        let tail = |at: usize| outcome.tails.as_ref().map(|tails| &*tails[at]);
        let streams = AttemptStreams {
            exit_code: outcome.exit_code,
            stdout: outcome.stdout.as_deref(),
            stderr: outcome.stderr.as_deref(),
            stdout_cut,
            stderr_cut,
            stdout_tail: tail(0).filter(|tail| !tail.is_empty()),
            stderr_tail: tail(1).filter(|tail| !tail.is_empty()),
            process: outcome.process,
        };
        Payload::inline(streams.to_json())
    });
    AttemptReport {
        outcome: outcome.kind,
        output: outcome.output.map(Payload::inline),
        streams,
        failure: outcome.failure,
        retry_after_ms: outcome.retry_after.map(|d| d.as_millis() as u64),
        usage: outcome.usage,
        // The texts are masked, so that they can be cut.
        handoff: outcome.handoff.map(|handoff| Box::new(handoff.bounded())),
    }
}
