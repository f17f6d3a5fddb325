//! The evidence of a process: what was started and how it ended.

use kb_base::value::{Digest, Json, JsonMap};
use kb_core::evidence::{ProcessEndKind, ProcessEvidence, TestCounts};
use kb_core::redaction::Redactor;
use kb_process::{BaseEnvironment, ProcessEnd, ProcessResult, Spawn};
use std::path::Path;

/// Commands of up to this many bytes are recorded as they are, longer ones by their digest.
const SHOWN_ARGV: usize = 4 << 10;

/// The evidence of a process: argv, working directory, a digest of the environment, the end, the size
/// of the output that was not kept, and the number of tests in the summaries of the output.
#[derive(Debug, Clone)]
pub struct ProcessTrace(ProcessEvidence);

impl ProcessTrace {
    /// Records a process before it starts. `root` is the workspace root, and `base` the environment
    /// that all processes inherit.
    pub(super) fn begin(
        spawn: &Spawn,
        root: &Path,
        base: &BaseEnvironment,
        redactor: &Redactor,
    ) -> ProcessTrace {
        let cwd = spawn.cwd.strip_prefix(root).unwrap_or(&spawn.cwd);
        let bytes: usize = spawn.argv.iter().map(String::len).sum();
        let argv = redactor.mask(spawn.argv.clone()).into_inner();
        let (argv, argv_hash) = if bytes <= SHOWN_ARGV {
            (Some(argv), None)
        } else {
            (None, Some(Digest::of_json(&argv.into())))
        };
        ProcessTrace(ProcessEvidence {
            cwd: crate::workspace::shown(cwd).to_string(),
            env: spawn.env.iter().map(|(name, _)| name.clone()).collect(),
            env_hash: Some(environment(spawn, base, redactor)),
            argv,
            argv_hash,
            ..ProcessEvidence::default()
        })
    }

    /// Adds the end of the process.
    pub fn end(self, exited: &ProcessResult) -> ProcessEvidence {
        let (mut exit_code, mut signal) = (None, None);
        let end = match &exited.end {
            ProcessEnd::Code(code) => {
                exit_code = Some(i64::from(*code));
                ProcessEndKind::Exit
            }
            ProcessEnd::Signal(number) => {
                signal = Some(*number);
                ProcessEndKind::Signal
            }
            ProcessEnd::TimedOut => ProcessEndKind::Timeout,
            ProcessEnd::Idle => ProcessEndKind::Idle,
            ProcessEnd::Cancelled => ProcessEndKind::Cancelled,
            ProcessEnd::Lost => ProcessEndKind::Lost,
            ProcessEnd::NotStarted(_) => ProcessEndKind::NotStarted,
        };
        ProcessEvidence {
            end: Some(end),
            exit_code,
            signal,
            duration_ms: exited.duration.as_millis() as u64,
            stdout_bytes: exited.stdout.len() as u64,
            stdout_cut: exited.stdout_cut,
            stderr_cut: exited.stderr_cut,
            tests: TestCounts::in_output(&exited.stdout, &exited.stderr),
            ..self.0
        }
    }
}

/// The digest of the environment. Secrets are masked first, so that the digest cannot be used to
/// guess one. `KB_…` variables name the attempt and are left out, so that the same work in the same
/// environment has the same digest.
fn environment(spawn: &Spawn, base: &BaseEnvironment, redactor: &Redactor) -> Digest {
    let own = spawn.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let masked = |value: &str| redactor.mask_text(value).into_owned();
    let all = base.iter().chain(own).filter(|(name, _)| !name.starts_with("KB_"));
    let all: JsonMap =
        all.map(|(name, value)| (name.to_owned(), Json::from(masked(value)))).collect();
    Digest::of_json(&Json::Object(all))
}
