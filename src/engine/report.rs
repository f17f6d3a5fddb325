//! The report of an attempt for the state machine.

use crate::attempt::Outcome;
use crate::evidence::Payload;
use crate::redaction::{Masked, Redactor};
use crate::run::AttemptReport;
use serde_json::json;

/// The masked report of an outcome.
pub(super) fn report(outcome: Outcome, redactor: &Redactor) -> Masked<AttemptReport> {
    redactor.mask(outcome).map(report_of)
}

fn report_of(outcome: Outcome) -> AttemptReport {
    let is_process =
        outcome.exit_code.is_some() || outcome.stdout.is_some() || outcome.stderr.is_some();
    let streams = is_process.then(|| {
        let mut streams = json!({
            "exitCode": outcome.exit_code,
            "stdout": outcome.stdout,
            "stderr": outcome.stderr,
        });
        for (name, bytes) in ["stdoutCut", "stderrCut"].into_iter().zip(outcome.cut) {
            if bytes > 0 {
                streams[name] = json!(bytes);
            }
        }
        if let Some(process) = outcome.process {
            streams["process"] = process;
        }
        Payload::inline(streams)
    });
    AttemptReport {
        outcome: outcome.kind,
        output: outcome.output.map(Payload::inline),
        streams,
        failure: outcome.failure,
        retry_after_ms: outcome.retry_after.map(|d| d.as_millis() as u64),
        usage: outcome.usage,
    }
}
