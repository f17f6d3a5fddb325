//! The toolbox: executes tool calls under the policy and records them.

use super::call::{Call, CallResult, Caller, Refusal};
use super::context::CallContext;
use super::delegates::Delegates;
use super::doubles::ToolDoubles;
use super::implementation::ToolImplementation;
use super::output_store::OutputStore;
use super::policy::{Approvals, Policy};
use super::process_launcher::{ProcessLauncher, next_scratch};
use super::registry::{RegisteredTool, Registry};
use super::run_memory::{AttemptMemory, RunMemory};
use crate::workspace::{FileAccess, PathRules, Workspace};
use kb_attempt::{Live, Recorder};
use kb_base::diagnostic::{Code, nearest};
use kb_base::value::{Digest, Failure, Json, json_text};
use kb_clock::{self as clock, RunClock};
use kb_core::evidence::{Invocation, InvocationStatus, Purpose};
use kb_core::redaction::Redactor;
use kb_http::{HttpClient, without_credentials};
use kb_language::definition::{ApprovalLevel, Settings};
use kb_language::plan::Confined;
use kb_language::toolspec::{ARTIFACT_READER, ToolCatalog, ToolSpec};
use kb_memory::Trust;
use kb_process::Supervisor;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// All tools of a run with the policy for them. Cheap to clone.
///
/// There is one per run; [`Toolbox::for_attempt`] derives one per attempt, with its own store of
/// complete results.
#[derive(Clone)]
pub struct Toolbox {
    pub(super) shared: Arc<Shared>,
    /// Whether a coding agent runs: the state of the files before it is that before its own changes.
    pub(super) in_session: Arc<AtomicBool>,
    /// Read where an attempt begins.
    pub(super) present: Option<PresentSettings>,
    pub(super) outputs: Arc<OutputStore>,
    pub(super) limit: Option<Duration>,
    pub(super) idle: Option<Duration>,
    /// Why commands of the author run in the sandbox, asked for each when it starts.
    pub(super) confined: Live<Option<Confined>>,
    /// The number of the temporary directory of its commands.
    pub(super) scratch: u64,
    /// The memory as the attempt uses it.
    pub(super) memory: AttemptMemory,
    /// Where the attempt says something to the other steps; `None` outside of an attempt.
    pub(super) recorder: Option<Arc<dyn Recorder>>,
    /// Who executes tasks that the attempt delegates; `None` outside of an attempt of a specialist.
    pub(crate) delegates: Option<Arc<dyn Delegates>>,
}

/// The settings of a run, narrowed by those that the project has now; `None` where the project now forbids
/// no more than at the start of the run.
pub type PresentSettings = Arc<dyn Fn() -> Option<Arc<Settings>> + Send + Sync>;

/// What tools use beside their arguments.
#[derive(Clone)]
pub struct ToolboxParts {
    /// The files that tools may access.
    pub workspace: Workspace,
    /// Starts processes.
    pub supervisor: Supervisor,
    /// The settings; `tools` and `sandbox` are used.
    pub settings: Arc<Settings>,
    /// The approvals that a person gave for this run.
    pub approvals: Approvals,
    /// Masks secrets in arguments and results.
    pub redactor: Arc<Redactor>,
    /// The sandbox level that this machine reaches.
    pub sandbox: ApprovalLevel,
    /// The tools that are no part of `kb`.
    pub tools: Vec<ToolImplementation>,
    /// Results in place of the execution of calls, in tests of playbooks.
    pub doubles: Option<Arc<ToolDoubles>>,
    /// The time of the run.
    pub clock: RunClock,
    /// The memory of the project; `None` if it cannot be used. The settings switch it on.
    pub memory: Option<Arc<RunMemory>>,
}

impl ToolboxParts {
    /// The memory for an attempt that has heard nothing yet.
    fn attempt_memory(&self) -> AttemptMemory {
        AttemptMemory::new(self.memory.clone().filter(|_| self.settings.memory.enabled))
    }

    /// The launcher for processes of tools, steps and checks.
    pub fn process_launcher(&self) -> ProcessLauncher {
        let (supervisor, workspace) = (self.supervisor.clone(), self.workspace.clone());
        ProcessLauncher::new(supervisor, workspace, self.settings.clone(), self.sandbox)
            .with_approval(self.approvals.yes)
    }
}

/// Maximum size of an output that is recorded for the verifier, in bytes.
const OUTPUT_BYTES: usize = 64 << 10;

pub(super) struct Shared {
    pub(super) parts: ToolboxParts,
    pub(super) workspace: Workspace,
    pub(super) redactor: Arc<Redactor>,
    pub(super) processes: ProcessLauncher,
    pub(super) policy: Policy,
    /// The path rules of each tool, by name.
    rules: BTreeMap<String, Arc<PathRules>>,
    registry: Registry,
    http: HttpClient,
}

impl Toolbox {
    /// Creates the toolbox of a run.
    pub fn new(parts: ToolboxParts) -> Toolbox {
        let policy = Policy::new(parts.settings.clone(), parts.approvals, parts.sandbox);
        let registry = Registry::new(&parts.tools);
        let rules_of =
            |spec: &Arc<ToolSpec>| (spec.name.to_string(), Arc::new(policy.path_rules(spec)));
        let rules = registry.catalog().tools().map(rules_of).collect();
        let http = HttpClient::new(&parts.settings.tools.http.allow_private);
        let processes = parts.process_launcher();
        let ToolboxParts { workspace, redactor, .. } = parts.clone();
        let memory = parts.attempt_memory();
        let shared =
            Shared { parts, workspace, redactor, processes, policy, rules, registry, http };
        Toolbox {
            shared: Arc::new(shared),
            in_session: Arc::default(),
            present: None,
            outputs: Arc::default(),
            limit: None,
            idle: None,
            confined: Live::always(None),
            scratch: next_scratch(),
            memory,
            recorder: None,
            delegates: None,
        }
    }

    /// The same tools, each attempt of which has the policies that the project has when it begins.
    #[must_use]
    pub fn with_present(self, present: PresentSettings) -> Toolbox {
        Toolbox { present: Some(present), ..self }
    }

    /// The same tools for one attempt, with its own store of complete results, under the policies of now.
    /// No process or request of the attempt may take longer than `limit`. Commands of a specialist get
    /// their own temporary directory.
    #[must_use]
    pub fn for_attempt(&self, limit: Option<Duration>) -> Toolbox {
        let present = self.present.as_ref().and_then(|present| present());
        let tools = match present {
            Some(settings) => Toolbox::new(ToolboxParts { settings, ..self.shared.parts.clone() }),
            None => self.clone(),
        };
        let memory = tools.shared.parts.attempt_memory();
        let (outputs, delegates) = (Arc::default(), self.delegates.clone());
        Toolbox { outputs, limit, scratch: next_scratch(), memory, delegates, ..tools }
    }

    /// The entries of all tools.
    pub fn tools(&self) -> &ToolCatalog {
        self.shared.registry.catalog()
    }

    /// The tools that a specialist with this allow-list may call, for its model. `output:read` is
    /// included if there is any other tool.
    pub fn describe(&self, allow_list: &[String]) -> Vec<Arc<ToolSpec>> {
        // `artifact:get` is added where there are artifacts.
        let offered = self.tools().tools().filter(|spec| spec.name != ARTIFACT_READER);
        let offered = offered.filter(|spec| self.shared.policy.offers(spec, allow_list));
        let described: Vec<Arc<ToolSpec>> = offered.cloned().collect();
        if described.len() > 1 { described } else { Vec::new() }
    }

    /// A tool that needs no entry in an allow-list; `None` if the policy forbids it.
    pub fn reader(&self, name: &str) -> Option<Arc<ToolSpec>> {
        let own = self.shared.registry.find(name).filter(|tool| tool.spec().always_allowed)?;
        self.shared.policy.offers(own.spec(), &[]).then(|| own.spec().clone())
    }

    /// The complete results of the calls of this attempt, for `output:read`.
    pub fn outputs(&self) -> &OutputStore {
        &self.outputs
    }

    /// Executes a call and records it. A refused or failed call is a result as well.
    pub async fn call(&self, call: &Call, cancel: &CancellationToken) -> (CallResult, Invocation) {
        let (at, began) = (self.shared.parts.clock.now(), clock::instant());
        let redactor = &self.shared.redactor;
        if let Some(before) = self.shared.workspace.state_before().filter(|_| self.may_write(call))
        {
            before.forget();
        }
        let result = self.execute(call, cancel).await;
        let args = redactor.mask_json(&recorded(&call.args));
        let text = json_text(&result.result);
        self.outputs.keep(&call.id, &text);
        let invocation = Invocation {
            id: call.id.clone(),
            tool: redactor.mask_text(&call.tool).into_owned(),
            args_hash: Digest::of_json(&args),
            args,
            at,
            duration_ms: began.elapsed().as_millis() as u64,
            purpose: Purpose::Execution,
            status: result.status,
            changes: result.changes.clone(),
            evidence: result.evidence.clone(),
            process: result.process.clone(),
            output: self.recorded_output(call, &result, text.len()),
            bytes: text.len() as u64,
        };
        (result, invocation)
    }

    /// Whether a call may change files that nothing else compares. Those that only read run beside others.
    fn may_write(&self, call: &Call) -> bool {
        let in_session = self.in_session.load(Ordering::Acquire);
        !in_session
            && self
                .shared
                .registry
                .find(&call.tool)
                .is_none_or(|tool| !tool.spec().can_be_repeated())
    }

    /// Executes a call; the result is masked.
    pub(super) async fn execute(&self, call: &Call, cancel: &CancellationToken) -> CallResult {
        let mut result = match self.admit(call) {
            Ok(tool) => {
                let doubles = self.shared.parts.doubles.as_ref();
                let double = doubles.and_then(|all| all.result_of(&tool.spec().name, call));
                if let Some(mut result) = double {
                    self.memory.hear(Trust::External);
                    self.mask(&mut result);
                    return result;
                }
                let context = self.context(tool.spec());
                let mut result = tool.tool.call(call, &context, cancel).await;
                if tool.tool.brings_text() {
                    self.memory.hear(Trust::External);
                }
                Box::pin(self.probe(tool, call, &mut result, cancel)).await;
                result
            }
            Err(refusal) => refusal.into(),
        };
        self.mask(&mut result);
        let kept = self.shared.parts.doubles.as_ref().and_then(|doubles| doubles.kept());
        if let Some((kept, tool)) = kept.zip(self.admit(call).ok()) {
            kept.keep(tool.spec(), call, &result);
        }
        result
    }

    /// How often a probe that could not decide is repeated.
    pub(super) fn probe_retries(&self) -> u32 {
        self.shared.parts.settings.verifier.inconclusive.probe_retries()
    }

    /// The output of a successful call, for the verifier; `None` if it is no evidence or exceeds 64 KiB.
    fn recorded_output(&self, call: &Call, result: &CallResult, bytes: usize) -> Option<Arc<Json>> {
        let records = self.tools().find(&call.tool).is_some_and(|spec| spec.records_output);
        let kept = records && result.status == InvocationStatus::Success && bytes <= OUTPUT_BYTES;
        kept.then(|| Arc::new(result.result.clone()))
    }

    /// Why a call requires the approval of a person; `None` if it requires none, or if it would be
    /// refused even with an approval.
    pub fn approval(&self, call: &Call) -> Option<String> {
        let approved = Call { approved: true, ..call.clone() };
        let tool = self.admit(&approved).ok()?;
        match &call.caller {
            Caller::Author => None,
            Caller::Specialist { .. } => {
                self.shared.policy.approval(tool.spec()).or_else(|| self.widens_network(tool, call))
            }
        }
    }

    /// The code that a call of a tool executes, which an approval is bound to: digests by path. Empty for a tool whose
    /// code is part of `kb`.
    pub fn code(&self, tool: &str) -> BTreeMap<String, Digest> {
        let found = self.shared.registry.find(tool);
        found.map(|found| found.tool.code(&self.shared.processes)).unwrap_or_default()
    }

    fn widens_network(&self, tool: &RegisteredTool, call: &Call) -> Option<String> {
        let asks = !self.shared.parts.approvals.yes;
        asks.then(|| tool.tool.widens_network(call, &self.shared.processes)).flatten()
    }

    /// The tool of a call, if the policy permits the call and the arguments match the schema.
    fn admit(&self, call: &Call) -> Result<&RegisteredTool, Refusal> {
        let registry = &self.shared.registry;
        let all = self.tools();
        let Some(tool) = registry.find(&call.tool) else {
            return Err(self.unknown(call, all));
        };
        self.shared.policy.permit(tool.spec(), call, all)?;
        if let Some(why) = self.widens_network(tool, call).filter(|_| !call.approved) {
            let failure = Failure::new(Code::NEEDS_APPROVAL, why);
            return Err(Refusal::denied(failure.help("start the run with `--yes`")));
        }
        tool.check(&call.args)?;
        Ok(tool)
    }

    fn unknown(&self, call: &Call, all: &ToolCatalog) -> Refusal {
        let names = || all.names();
        let help = match (nearest(&call.tool, names()), &call.caller) {
            (Some(name), _) => format!("did you mean `{name}`?"),
            (None, Caller::Author) => {
                format!("known tools: `{}`", names().collect::<Vec<_>>().join("`, `"))
            }
            (None, Caller::Specialist { allow_list, .. }) => {
                self.shared.policy.offered(allow_list, all)
            }
        };
        let message = format!("unknown tool `{}`", call.tool);
        Refusal::denied(Failure::new(Code::UNKNOWN_TOOL, message).help(help))
    }

    /// The files that the calls concern.
    pub(crate) fn workspace(&self) -> &Workspace {
        &self.shared.workspace
    }

    pub(super) fn context(&self, spec: &ToolSpec) -> CallContext<'_> {
        let shared = &self.shared;
        let rules = shared.rules.get(&*spec.name).cloned();
        let rules = rules.unwrap_or_else(|| Arc::new(PathRules::nothing()));
        let (workspace, redactor) = (shared.workspace.clone(), shared.redactor.clone());
        CallContext {
            files: FileAccess { workspace, rules, tool: spec.name.clone(), redactor },
            processes: &shared.processes,
            clock: &shared.parts.clock,
            http: &shared.http,
            outputs: &self.outputs,
            redactor: &shared.redactor,
            limit: self.limit,
            idle: self.idle,
            confined: &self.confined,
            scratch: self.scratch,
            memory: &self.memory,
            recorder: self.recorder.as_ref(),
            delegates: self.delegates.as_ref(),
            delegation: shared.parts.settings.orchestrator.delegation(),
        }
    }

    fn mask(&self, result: &mut CallResult) {
        let redactor = &self.shared.redactor;
        result.result = redactor.mask_json(&result.result);
        for change in &mut result.changes {
            // The texts of a diff are masked before they are compared.
            change.path = redactor.mask_text(&change.path).into_owned();
        }
        for evidence in &mut result.evidence {
            evidence.reference = redactor.mask_text(&evidence.reference).into_owned();
        }
        result.process = redactor.mask(result.process.take()).into_inner();
        if let Some(failure) = &mut result.failure {
            failure.message = redactor.mask_text(&failure.message).to_string();
            failure.help = failure.help.as_ref().map(|help| redactor.mask_text(help).to_string());
            failure.details =
                failure.details.as_ref().map(|details| Box::new(redactor.mask_json(details)));
        }
    }
}

/// Arguments as they are recorded: credentials in a URL are masked, although no request is sent to
/// such a URL.
fn recorded(args: &Json) -> Cow<'_, Json> {
    let Some(url) = args.get("url").and_then(Json::as_str) else { return Cow::Borrowed(args) };
    let mut masked = args.clone();
    masked["url"] = Json::from(without_credentials(url));
    Cow::Owned(masked)
}
