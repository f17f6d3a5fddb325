//! The request of one attempt.

use super::{LeftChanges, Live, StepWork, TreeRequest};
use kb_base::value::{AttemptPlace, InstanceKey, PlacedStep, RunId, StepId};
use kb_core::verify::ReliedFact;
use kb_language::definition::{CacheScope, NetworkAccess};
use kb_language::plan::Confined;
use std::sync::Arc;
use std::time::Duration;

/// Everything that one attempt needs, with all templates rendered.
#[derive(Debug, Clone)]
pub struct Request {
    /// The run that the attempt belongs to.
    pub run: RunId,
    /// Key of the step or item.
    pub instance: InstanceKey,
    /// Iteration of the instance, from 1.
    pub iteration: u32,
    /// Number of the attempt, from 1 in each iteration.
    pub attempt: u32,
    /// The pass of the step's `loop`, from 1.
    pub pass: u32,
    /// Work of the attempt.
    pub work: StepWork,
    /// Timeout of the attempt.
    pub timeout: Option<Duration>,
    /// Idle timeout: the time limit without output, token or tool call.
    pub idle: Option<Duration>,
    /// Environment of its processes, with the values of secrets.
    pub env: Vec<(String, String)>,
    /// Working directory relative to the workspace root; empty for the root.
    pub cwd: String,
    /// Whether manifests are taken before and after its processes.
    pub evidence: bool,
    /// The files of its own that it runs in; `None` if it runs in the project.
    pub tree: Option<Box<TreeRequest>>,
    /// Why its commands run in the sandbox, asked for each process when it starts; `None` for a specialist,
    /// whose commands always do, and if no command of the step has to.
    pub confined: Live<Option<Confined>>,
    /// Commands of its checks that are executed and recorded before the work.
    pub before: Option<Box<CommandsBefore>>,
    /// How a stored result is used and stored; `None` without `cache`.
    pub cache: Option<Box<CacheRequest>>,
    /// What passed verdicts on the dependencies of the step say of files; empty after a resume.
    pub relied: Vec<Relied>,
    /// What earlier attempts left without a record in this iteration; `None` if they left nothing.
    pub left: Option<Box<LeftChanges>>,
    /// The attempts above that started the run, outermost first; set by the executor.
    pub callers: Arc<[PlacedStep]>,
}

/// What a passed verdict says of files.
#[derive(Debug, Clone, PartialEq)]
pub struct Relied {
    /// The step that the verdict is about.
    pub step: StepId,
    /// What it says.
    pub fact: ReliedFact,
}

/// `cache` of a step, with all templates rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheRequest {
    /// Id of the playbook or workflow.
    pub definition: String,
    /// The author's part of the key.
    pub key: Option<String>,
    /// Globs of the files that the step reads; `None` if they are not declared.
    pub inputs: Option<Vec<String>>,
    /// Globs of the files that belong to the result; empty if they are not declared.
    pub outputs: Vec<String>,
    /// The age from which a stored result is not used.
    pub ttl: Option<Duration>,
    /// Which steps share results.
    pub scope: CacheScope,
    /// Whether a stored result may be taken. Later attempts and iterations do the work, because a person
    /// or a gate asked for another result.
    pub may_take: bool,
}

/// Commands of checks that are executed before the work of a step, because the checks compare with it.
#[derive(Debug, Clone)]
pub struct CommandsBefore {
    /// Program and arguments of each, with its time limit.
    pub commands: Vec<(Vec<String>, Option<Duration>)>,
    /// The network of commands that run in the sandbox; `None` without a sandbox.
    pub sandboxed: Option<NetworkAccess>,
}

impl Request {
    /// Where the attempt stands in its run and in the runs above.
    pub fn place(&self) -> AttemptPlace {
        let own = PlacedStep::new(&self.instance, self.iteration, self.attempt);
        AttemptPlace { callers: self.callers.to_vec(), own }
    }

    /// The idempotency key, the same for every attempt: `RUN/INSTANCE/ITERATION`, with `.PASS` from the second
    /// pass of a loop on.
    pub fn idempotency_key(&self) -> String {
        let instance = in_variable(&self.instance.to_string());
        match self.pass {
            1 => format!("{}/{instance}/{}", self.run, self.iteration),
            pass => format!("{}/{instance}/{}.{pass}", self.run, self.iteration),
        }
    }

    /// Environment variables that identify the attempt for each of its processes.
    pub fn identity(&self) -> [(String, String); 4] {
        [
            ("KB_RUN".to_owned(), self.run.to_string()),
            ("KB_STEP".to_owned(), in_variable(&self.instance.to_string())),
            ("KB_ATTEMPT".to_owned(), self.attempt.to_string()),
            ("KB_IDEMPOTENCY_KEY".to_owned(), self.idempotency_key()),
        ]
    }
}

/// The name of an instance as the variables of its processes have it. A model may have written the key of its item, and
/// `bash` executes some texts where it expects a number, so each character of the key but letters, digits, `_`, `-`, `.`
/// and `,` is written as in a URL.
pub fn in_variable(instance: &str) -> String {
    let Some((step, item)) = instance.split_once('[') else { return instance.to_owned() };
    let item = item.strip_suffix(']').unwrap_or(item);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.,".contains(&byte);
    let written = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    format!("{step}[{}]", item.bytes().map(written).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::in_variable;

    #[test]
    fn the_key_of_an_item_is_no_code_in_a_variable() {
        for (instance, expected) in [
            ("build", "build"),
            ("build[3]", "build[3]"),
            ("build[linux,arm-v7]", "build[linux,arm-v7]"),
            ("build[a/b c]", "build[a%2Fb%20c]"),
            ("PATH[$(id)]", "PATH[%24%28id%29]"),
            ("PATH[x[$(id)]]", "PATH[x%5B%24%28id%29%5D]"),
            ("PATH[`id`é=]", "PATH[%60id%60%C3%A9%3D]"),
        ] {
            assert_eq!(in_variable(instance), expected);
        }
    }
}
