//! The inputs of one gate.

use crate::{Live, TreeRequest};
use kb_base::value::{InstanceKey, Json, RunId, Tier, Timestamp};
use kb_core::evidence::{Invocation, Record};
use kb_core::verify::{AskedWork, EarlierStep};
use kb_language::definition::{Check, ClaimPolicy, NetworkAccess, Schema};
use kb_language::plan::Confined;
use kb_language::toolspec::ToolCatalog;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The inputs of one gate.
#[derive(Debug, Clone)]
pub struct GateRequest {
    /// The run and instance that the gate belongs to; `None` if nothing is stored for a process that is killed meanwhile.
    pub of: Option<Box<GateOf>>,
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// How strictly claims in the output are compared with the evidence.
    pub claims: ClaimPolicy,
    /// Whether an attempt without any file change is a warning.
    pub expect_changes: bool,
    /// Whether the definition of the step says that it changes files.
    pub changes_declared: bool,
    /// Whether the gate refuted an earlier attempt of the pass.
    pub after_refuted: bool,
    /// The output of the step.
    pub output: Arc<Json>,
    /// The output schema of the step.
    pub output_schema: Option<Schema>,
    /// The keys of the output that the author calls commentary, and those that a check reads.
    pub excused: Vec<String>,
    /// What the task asks a specialist to change that may write.
    pub asked: AskedWork,
    /// What specialists changed before that can decide what a command does.
    pub earlier: Vec<EarlierStep>,
    /// The recorded tool calls of all attempts of this iteration.
    pub trace: Vec<Invocation>,
    /// Whether a command of the step ran whose changes of files were not recorded.
    pub unwatched: bool,
    /// Environment of the command checks, rendered.
    pub env: Vec<(String, String)>,
    /// Working directory of the command checks, relative to the workspace root.
    pub cwd: String,
    /// The files of its own that the step ran in; `None` if it ran in the project.
    pub tree: Option<Box<TreeRequest>>,
    /// The network of command checks that run in the sandbox, because a specialist may have written
    /// the code that they execute; `None` without a sandbox.
    pub sandboxed: Option<NetworkAccess>,
    /// Why command checks of another step run in the sandbox: asked for each command when it starts.
    pub confined: Live<Option<Confined>>,
    /// The tools of the run.
    pub tools: ToolCatalog,
    /// Timeout of the whole gate.
    pub timeout: Option<Duration>,
    /// What the specialist received, if the names in its answer are looked up or a judge reads it.
    pub received: Option<Arc<Received>>,
    /// What a `judge` check needs to know, if the gate has one.
    pub judged: Option<Box<JudgeSubject>>,
}

/// The run and instance that a gate belongs to.
#[derive(Debug, Clone)]
pub struct GateOf {
    /// The run whose process may be killed.
    pub run: RunId,
    /// The step or item.
    pub instance: InstanceKey,
    /// The last sign of life of a process that was killed while it executed the gate.
    pub killed: Option<Timestamp>,
}

/// What a specialist received: what it was told, and what its calls returned.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// Whether the names in its answer are looked up: it only reads, so its answer is its work.
    pub looks_up: bool,
    /// The rendered task.
    pub task: String,
    /// Input, parameters, its definition, and what earlier steps left behind.
    pub told: Vec<String>,
    /// The results of its calls, by the ids of the calls.
    pub results: BTreeMap<String, Arc<Json>>,
    /// Whether these are the results of all its calls.
    pub all_results: bool,
}

/// What a judge needs to know of an attempt.
#[derive(Debug, Clone)]
pub struct JudgeSubject {
    /// The run that the attempt belongs to.
    pub run: RunId,
    /// Key of the step or item.
    pub instance: InstanceKey,
    /// Iteration of the instance.
    pub iteration: u32,
    /// Number of the attempt.
    pub attempt: u32,
    /// The rendered task of the specialist.
    pub task: String,
    /// The tier of the specialist.
    pub tier: Tier,
    /// Parameters of the run.
    pub params: Arc<Json>,
    /// The records since the end of the attempt: the assessment of a judge that answered before a crash.
    pub records: Vec<Record>,
}
