//! Masking of everything that an attempt or gate returns, before it is stored or shown.

use crate::attempt::Outcome;
use crate::evidence::{CheckDetail, Payload, Record, Verification};
use crate::redaction::Redactor;
use crate::run::AttemptReport;
use crate::value::{Failure, Json};
use serde_json::json;

fn text(text: &str, redactor: &Redactor) -> String {
    redactor.mask_text(text).into_owned()
}

/// A record without the values of secrets.
pub(super) fn record(record: Record, redactor: &Redactor) -> Record {
    let mask = |payload: &mut Payload| {
        if let Payload::Inline(value) = payload {
            *payload = Payload::inline(redactor.mask_json(value));
        }
    };
    let mut record = record;
    match &mut record {
        Record::ModelCall { text: answer, calls, model, .. } => {
            mask(answer);
            *model = text(model, redactor);
            for call in calls {
                call.id = text(&call.id, redactor);
                call.args = redactor.mask_json(&call.args);
                call.tool = text(&call.tool, redactor);
            }
        }
        Record::ToolCall { args, tool, .. } => {
            mask(args);
            *tool = text(tool, redactor);
        }
        Record::ToolResult { result, invocation, .. } => {
            mask(result);
            invocation.args = redactor.mask_json(&invocation.args);
            invocation.process = invocation.process.take().map(|p| redactor.masked(p));
            // A process may put a secret into the name of a file.
            for change in &mut invocation.changes {
                change.path = text(&change.path, redactor);
                change.diff = change.diff.take().map(|diff| text(&diff, redactor));
            }
        }
        Record::Observed { basis } => mask(basis),
        Record::Compression { summary: note, .. } | Record::Note { text: note } => {
            *note = text(note, redactor);
        }
    }
    record
}

/// A failure without the values of secrets.
pub(super) fn failure(failure: Failure, redactor: &Redactor) -> Failure {
    Failure {
        code: failure.code,
        message: text(&failure.message, redactor),
        help: failure.help.map(|help| text(&help, redactor)),
        details: failure.details.map(|details| Box::new(redactor.masked(*details))),
    }
}

/// The result of a gate without the values of secrets.
pub(super) fn verification(verification: Verification, redactor: &Redactor) -> Verification {
    let mask = |value: String| text(&value, redactor);
    let checks = verification.checks.into_iter().map(|check| CheckDetail {
        check: mask(check.check),
        verdict: check.verdict,
        reason: check.reason.map(mask),
        evidence: check.evidence.map(|evidence| redactor.mask_json(&evidence)),
    });
    Verification { reason: verification.reason.map(mask), checks: checks.collect(), ..verification }
}

/// The report of an outcome for the state machine, without the values of secrets.
pub(super) fn report(outcome: Outcome, redactor: &Redactor) -> AttemptReport {
    let process =
        outcome.exit_code.is_some() || outcome.stdout.is_some() || outcome.stderr.is_some();
    let streams = process.then(|| {
        let text = |text: &Option<String>, cut: u64| {
            text.as_deref().map(|text| cut_or_whole(redactor, text, cut))
        };
        let mut streams = json!({
            "exitCode": outcome.exit_code,
            "stdout": text(&outcome.stdout, outcome.cut[0]),
            "stderr": text(&outcome.stderr, outcome.cut[1]),
        });
        for (name, bytes) in ["stdoutCut", "stderrCut"].into_iter().zip(outcome.cut) {
            if bytes > 0 {
                streams[name] = json!(bytes);
            }
        }
        if let Some(process) = outcome.process {
            streams["process"] = redactor.masked(process);
        }
        Payload::inline(streams)
    });
    let output = outcome.output.map(|output: Json| match &output {
        // The stdout of a process may end in the middle of a secret.
        Json::String(text) => Json::from(cut_or_whole(redactor, text, outcome.cut[0])),
        _ => redactor.masked(output),
    });
    AttemptReport {
        outcome: outcome.kind,
        output: output.map(Payload::inline),
        streams,
        failure: outcome.failure.map(|cause| failure(cause, redactor)),
        retry_after_ms: outcome.retry_after.map(|d| d.as_millis() as u64),
        usage: outcome.usage,
    }
}

fn cut_or_whole(redactor: &Redactor, text: &str, cut: u64) -> String {
    match cut {
        0 => redactor.mask_text(text).into_owned(),
        _ => redactor.mask_cut_text(text).into_owned(),
    }
}
