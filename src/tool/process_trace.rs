use super::Toolbox;
use crate::process::{ProcessEnd, ProcessResult, Spawn};
use crate::value::{Digest, Json, JsonMap};
use serde_json::json;

/// Words of a command up to this many bytes stand in the evidence; beyond, their digest does.
const SHOWN_ARGV: usize = 4 << 10;

/// What a process leaves in the evidence: argv, cwd, a digest of its environment, its end, and how
/// much of its output was not kept.
#[derive(Debug, Clone)]
pub struct ProcessTrace(Json);

impl ProcessTrace {
    /// PriorState it starts.
    pub fn begin(spawn: &Spawn, toolbox: &Toolbox) -> ProcessTrace {
        let cwd = spawn.cwd.strip_prefix(toolbox.workspace().root()).unwrap_or(&spawn.cwd);
        let own: Vec<&str> = spawn.env.iter().map(|(name, _)| name.as_str()).collect();
        let mut trace = json!({
            "cwd": crate::workspace::shown(cwd),
            "env": own,
            "envHash": environment(spawn, toolbox),
        });
        let bytes: usize = spawn.argv.iter().map(String::len).sum();
        let argv = toolbox.redactor().mask_json(&json!(spawn.argv));
        match bytes <= SHOWN_ARGV {
            true => trace["argv"] = argv,
            false => trace["argvHash"] = json!(Digest::of_json(&argv)),
        }
        ProcessTrace(trace)
    }

    /// After its end.
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
        trace
    }
}

/// The digest of the variables that it is given, secrets as their masks, so that the digest is no
/// way to find one. What says which attempt it is (`KB_…`) is left out, and what the supervisor adds
/// (the private `TMPDIR`) is not among them: the same work in the same environment has the same
/// digest.
fn environment(spawn: &Spawn, toolbox: &Toolbox) -> Digest {
    let base = toolbox.supervisor().base().iter();
    let own = spawn.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let masked = |value: &str| toolbox.redactor().mask_text(value).into_owned();
    let all = base.chain(own).filter(|(name, _)| !name.starts_with("KB_"));
    let all: JsonMap =
        all.map(|(name, value)| (name.to_owned(), Json::from(masked(value)))).collect();
    Digest::of_json(&Json::Object(all))
}
