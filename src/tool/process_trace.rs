//! The evidence of a process: what was started and how it ended.

use crate::evidence::TestCounts;
use crate::process::{BaseEnvironment, ProcessEnd, ProcessResult, Spawn};
use crate::redaction::Redactor;
use crate::value::{Digest, Json, JsonMap};
use serde_json::json;
use std::path::Path;

/// Commands of up to this many bytes are recorded as they are, longer ones by their digest.
const SHOWN_ARGV: usize = 4 << 10;

/// The evidence of a process: argv, working directory, a digest of the environment, the end, the size
/// of the output that was not kept, and the number of tests in the summaries of the output.
#[derive(Debug, Clone)]
pub struct ProcessTrace(Json);

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
        let own: Vec<&str> = spawn.env.iter().map(|(name, _)| name.as_str()).collect();
        let mut trace = json!({
            "cwd": crate::workspace::shown(cwd),
            "env": own,
            "envHash": environment(spawn, base, redactor),
        });
        let bytes: usize = spawn.argv.iter().map(String::len).sum();
        let argv = redactor.mask_json(&json!(spawn.argv));
        match bytes <= SHOWN_ARGV {
            true => trace["argv"] = argv,
            false => trace["argvHash"] = json!(Digest::of_json(&argv)),
        }
        ProcessTrace(trace)
    }

    /// Adds the end of the process.
    pub fn end(self, exited: &ProcessResult) -> Json {
        let ProcessTrace(mut trace) = self;
        let (end, number) = match &exited.end {
            ProcessEnd::Code(code) => ("exit", Some(*code)),
            ProcessEnd::Signal(signal) => ("signal", Some(*signal)),
            ProcessEnd::TimedOut => ("timeout", None),
            ProcessEnd::Idle => ("idle", None),
            ProcessEnd::Cancelled => ("cancelled", None),
            ProcessEnd::Lost => ("lost", None),
            ProcessEnd::NotStarted(_) => ("notStarted", None),
        };
        trace["end"] = json!(end);
        match end {
            "exit" => trace["exitCode"] = json!(number),
            "signal" => trace["signal"] = json!(number),
            _ => {}
        }
        trace["durationMs"] = json!(exited.duration.as_millis() as u64);
        trace["stdoutCut"] = json!(exited.stdout_cut);
        trace["stderrCut"] = json!(exited.stderr_cut);
        if let Some(tests) = TestCounts::in_output(&exited.stdout, &exited.stderr) {
            trace["tests"] = tests.to_json();
        }
        trace
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
