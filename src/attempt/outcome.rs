use crate::redaction::{Mask, Redactor};
use crate::value::{Failure, Json, OutcomeKind, Usage};
use std::time::Duration;

/// How an attempt ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// In one word.
    pub kind: OutcomeKind,
    /// What it handed out.
    pub output: Option<Json>,
    /// Of a process.
    pub exit_code: Option<i32>,
    /// Of a process; cut at the limit.
    pub stdout: Option<String>,
    /// Of a process; cut at the limit.
    pub stderr: Option<String>,
    /// Of a process: bytes of stdout and of stderr that were more than is kept.
    pub cut: [u64; 2],
    /// Of a process: argv, cwd, digest of its environment, its end.
    pub process: Option<Json>,
    /// Why it did not work; with `details.partial` where something was done (000 §12.1).
    pub failure: Option<Failure>,
    /// How long the provider wants us to wait at least.
    pub retry_after: Option<Duration>,
    /// What it took.
    pub usage: Usage,
}

impl Outcome {
    /// Done, with this output.
    pub fn ok(output: Json) -> Self {
        Outcome {
            kind: OutcomeKind::Ok,
            output: Some(output),
            exit_code: None,
            stdout: None,
            stderr: None,
            cut: [0, 0],
            process: None,
            failure: None,
            retry_after: None,
            usage: Usage::NONE,
        }
    }

    /// Not done, and why.
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
            process: self.process.masked_by(redactor),
            failure: self.failure.masked_by(redactor),
            ..self
        }
    }
}
