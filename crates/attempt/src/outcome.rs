//! The result of an attempt.

use kb_base::value::{Failure, Json, OutcomeKind, Usage};
use kb_core::evidence::{ApprovalRequest, Handoff, ProcessEvidence};
use kb_core::redaction::{Mask, Redactor};
use std::time::Duration;

/// How an attempt ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Kind of the outcome.
    pub kind: OutcomeKind,
    /// Output; `None` if the attempt failed.
    pub output: Option<Json>,
    /// Exit code of a process.
    pub exit_code: Option<i32>,
    /// Stdout of a process, cut at the limit.
    pub stdout: Option<String>,
    /// Stderr of a process, cut at the limit.
    pub stderr: Option<String>,
    /// Number of bytes that were cut from stdout and from stderr.
    pub cut: [u64; 2],
    /// The last lines of stdout and of stderr where they were cut.
    pub tails: Option<Box<[String; 2]>>,
    /// Evidence of a process: argv, cwd, digest of its environment, how it ended.
    pub process: Option<Box<ProcessEvidence>>,
    /// Cause of the failure. `details.partial` has the results of an incomplete attempt.
    pub failure: Option<Failure>,
    /// Minimum delay before a retry, as the server or provider requested it.
    pub retry_after: Option<Duration>,
    /// Tokens and cost of the attempt.
    pub usage: Usage,
    /// What a child run waits for. The step waits without a slot, and the attempt has no result.
    pub waits: Option<String>,
    /// A tool call that requires the approval of a person. The step waits without a slot, and the
    /// attempt continues with the decision.
    pub asks: Option<Box<ApprovalRequest>>,
    /// What a specialist passes on to later steps.
    pub handoff: Option<Box<Handoff>>,
}

impl Outcome {
    /// A successful outcome with an output.
    pub fn ok(output: Json) -> Self {
        Outcome {
            kind: OutcomeKind::Ok,
            output: Some(output),
            exit_code: None,
            stdout: None,
            stderr: None,
            cut: [0, 0],
            tails: None,
            process: None,
            failure: None,
            retry_after: None,
            usage: Usage::NONE,
            waits: None,
            asks: None,
            handoff: None,
        }
    }

    /// The attempt waits for the approval of a tool call.
    pub fn asking(request: ApprovalRequest) -> Self {
        let outcome = Outcome::ok(Json::Null);
        Outcome {
            kind: OutcomeKind::Unknown,
            output: None,
            asks: Some(Box::new(request)),
            ..outcome
        }
    }

    /// The attempt executes a child run that waits.
    pub fn waiting(reason: String) -> Self {
        Outcome {
            kind: OutcomeKind::Unknown,
            output: None,
            waits: Some(reason),
            ..Outcome::ok(Json::Null)
        }
    }

    /// A failed outcome.
    pub fn failed(kind: OutcomeKind, failure: Failure) -> Self {
        Outcome { kind, output: None, failure: Some(failure), ..Outcome::ok(Json::Null) }
    }
}

impl Mask for Outcome {
    fn masked_by(self, redactor: &Redactor) -> Outcome {
        let text = |text: String, cut: u64| match cut {
            0 => text.masked_by(redactor),
            _ => redactor.mask_truncated(&text).into_inner(),
        };
        let [stdout_cut, stderr_cut] = self.cut;
        Outcome {
            output: self.output.map(|output| match output {
                // The stdout of a process, which may end in the middle of a secret.
                Json::String(output) => Json::String(text(output, stdout_cut)),
                other => other.masked_by(redactor),
            }),
            stdout: self.stdout.map(|stdout| text(stdout, stdout_cut)),
            stderr: self.stderr.map(|stderr| text(stderr, stderr_cut)),
            tails: self.tails.map(|tails| Box::new(tails.map(|tail| text(tail, 1)))),
            process: self.process.masked_by(redactor),
            failure: self.failure.masked_by(redactor),
            waits: self.waits.masked_by(redactor),
            handoff: self.handoff.masked_by(redactor),
            ..self
        }
    }
}
