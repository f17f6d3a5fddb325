use super::call::{Call, CallResult, Caller, Refusal};
use super::output_read::OutputRead;
use super::output_store::OutputStore;
use super::policy::{Approvals, Policy};
use super::registry::{Registered, Registry};
use super::{ToolDescription, ToolSpec};
use crate::clock;
use crate::definition::{ApprovalLevel, Settings};
use crate::diagnostic::{Code, nearest};
use crate::evidence::{Invocation, InvocationStatus, Purpose};
use crate::http::HttpClient;
use crate::process::{Confinement, KernelSandbox, SandboxCap, Supervisor};
use crate::redaction::Redactor;
use crate::value::{Digest, Failure, Json, json_text};
use crate::workspace::FileAccess;
use crate::workspace::PathRules;
use crate::workspace::Workspace;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Every tool with the policy and the guard that hold over it. Cheap to clone.
///
/// One for a run; [`Toolbox::for_attempt`] makes the one of an attempt, with its own store of
/// whole results.
#[derive(Clone)]
pub struct Toolbox {
    shared: Arc<Shared>,
    outputs: Arc<OutputStore>,
    purpose: Purpose,
    limit: Option<Duration>,
}

/// What a toolbox is made of.
#[derive(Clone)]
pub struct ToolboxParts {
    /// The files.
    pub workspace: Workspace,
    /// Starts processes.
    pub supervisor: Supervisor,
    /// `tools.security`, `sandbox` and allowed hosts are read.
    pub settings: Arc<Settings>,
    /// What a person approved for this run.
    pub approvals: Approvals,
    /// Masks secrets in arguments and results.
    pub redactor: Arc<Redactor>,
    /// How far processes are held, as was found at the start.
    pub sandbox: ApprovalLevel,
}

struct Shared {
    parts: ToolboxParts,
    policy: Policy,
    /// The path rules over each tool.
    rules: BTreeMap<&'static str, Arc<PathRules>>,
    registry: Registry,
    http: HttpClient,
}

impl Toolbox {
    /// Puts the parts together.
    pub fn new(parts: ToolboxParts) -> Toolbox {
        let policy = Policy::new(parts.settings.clone(), parts.approvals, parts.sandbox);
        let registry = Registry::built_in();
        let rules_of = |name| (name, Arc::new(policy.path_rules(name)));
        let rules = registry.names().map(rules_of).collect();
        let http = HttpClient::new(&parts.settings.allowed_hosts);
        Toolbox {
            shared: Arc::new(Shared { parts, policy, rules, registry, http }),
            outputs: Arc::default(),
            purpose: Purpose::Execution,
            limit: None,
        }
    }

    /// The same tools for one attempt: its own store of whole results, and no process of it may
    /// take longer than `limit`.
    #[must_use]
    pub fn for_attempt(&self, limit: Option<Duration>) -> Toolbox {
        Toolbox { outputs: Arc::default(), limit, ..self.clone() }
    }

    /// The same tools for looking at work that was done: calls are recorded as verification.
    #[must_use]
    pub fn for_verification(&self) -> Toolbox {
        Toolbox { purpose: Purpose::Verification, ..self.clone() }
    }

    /// Every tool, by name.
    pub fn specs(&self) -> Vec<&ToolSpec> {
        self.shared.registry.all().map(|tool| tool.tool.spec()).collect()
    }

    /// One tool.
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.shared.registry.find(name).map(|tool| tool.tool.spec())
    }

    /// The tools that a specialist with this whitelist may call, for its model; `output:read` is
    /// among them where any is.
    pub fn describe(&self, whitelist: &[String]) -> Vec<ToolDescription> {
        let offered = self.specs().into_iter();
        let offered = offered.filter(|spec| self.shared.policy.offers(spec.name, whitelist));
        let described: Vec<ToolDescription> = offered.map(ToolDescription::of).collect();
        if described.len() > 1 { described } else { Vec::new() }
    }

    /// `output:read` for the model of a specialist without tools; `None` if the policy forbids it.
    pub fn reader(&self) -> Option<ToolDescription> {
        let offered = self.shared.policy.offers(OutputRead::NAME, &[]);
        self.spec(OutputRead::NAME).filter(|_| offered).map(ToolDescription::of)
    }

    /// The files that tools and checks may reach.
    pub fn workspace(&self) -> &Workspace {
        &self.shared.parts.workspace
    }

    /// Starts processes.
    pub fn supervisor(&self) -> &Supervisor {
        &self.shared.parts.supervisor
    }

    /// Sends requests under the rules that hold over them.
    pub fn http(&self) -> &HttpClient {
        &self.shared.http
    }

    /// The whole results of this attempt's calls, for `output:read`.
    pub fn outputs(&self) -> &OutputStore {
        &self.outputs
    }

    /// Starts processes whose code a specialist may have written, its own commands and those that
    /// check its work: held by the kernel where the sandbox reaches that far.
    pub fn held_supervisor(&self) -> Supervisor {
        match self.sandbox() {
            ApprovalLevel::Kernel => self.supervisor().confined(self.confinement()),
            _ => self.supervisor().clone(),
        }
    }

    /// Where such processes may read and write: the project, and what the settings add.
    fn confinement(&self) -> Confinement {
        let (root, settings) = (self.workspace().root(), &self.shared.parts.settings);
        let places = |list: &[String]| -> Vec<PathBuf> {
            let at = |place: &String| match place.starts_with("~/") {
                true => PathBuf::from(place),
                false => root.join(place),
            };
            list.iter().map(at).collect()
        };
        Confinement::to([root.to_owned()])
            .with_read(crate::workspace::repository_outside(root))
            .with_read(places(&settings.sandbox_read))
            .with_write(places(&settings.sandbox_write))
            .with_read_only(self.workspace().protected_now())
    }

    /// Starts the processes of a caller's own commands.
    pub(super) fn supervisor_for(&self, caller: &Caller) -> Supervisor {
        match caller {
            Caller::Specialist { .. } => self.held_supervisor(),
            Caller::Author => self.supervisor().clone(),
        }
    }

    /// How far processes are held.
    pub fn sandbox(&self) -> ApprovalLevel {
        self.shared.parts.sandbox
    }

    /// The longest that a process of this attempt may take.
    pub(super) fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Makes a call, whoever asks for it: known tool, policy, arguments, work, evidence. Never
    /// panics and never fails: what was refused is a result too, and the caller sees it.
    pub async fn call(&self, call: &Call, cancel: &CancellationToken) -> (CallResult, Invocation) {
        let (at, began) = (clock::now(), clock::instant());
        let redactor = &self.shared.parts.redactor;
        let mut result = match self.admit(call) {
            Ok(tool) => tool.tool.call(call, self, cancel).await,
            Err(refusal) => refusal.into(),
        };
        self.mask(&mut result);
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
            purpose: self.purpose,
            status: result.status,
            changes: result.changes.clone(),
            evidence: result.evidence.clone(),
            process: result.process.clone(),
            bytes: text.len() as u64,
        };
        (result, invocation)
    }

    /// The tool of a call, if the call may be made and its arguments fit.
    fn admit(&self, call: &Call) -> Result<&Registered, Refusal> {
        let registry = &self.shared.registry;
        let known: Vec<&str> = registry.names().collect();
        let Some(tool) = registry.find(&call.tool) else {
            return Err(self.unknown(call, &known));
        };
        self.shared.policy.permit(tool.tool.spec(), &call.caller, &known)?;
        tool.check(&call.args)?;
        Ok(tool)
    }

    fn unknown(&self, call: &Call, known: &[&str]) -> Refusal {
        let help = match (nearest(&call.tool, known.iter().copied()), &call.caller) {
            (Some(name), _) => format!("did you mean `{name}`?"),
            (None, Caller::Author) => format!("the tools are `{}`", known.join("`, `")),
            (None, Caller::Specialist { whitelist, .. }) => {
                self.shared.policy.offered(whitelist, known)
            }
        };
        let message = format!("there is no tool `{}`", call.tool);
        Refusal::denied(Failure::new(Code::UNKNOWN_TOOL.as_str(), message).help(help))
    }

    /// Masks secrets, for what leaves this room or is digested: a digest of a value that is easily
    /// guessed tells it.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.shared.parts.redactor
    }

    fn mask(&self, result: &mut CallResult) {
        let redactor = &self.shared.parts.redactor;
        result.result = redactor.mask_json(&result.result);
        for change in &mut result.changes {
            // What changed in a text was masked before it was compared, since lines are compared.
            change.path = redactor.mask_text(&change.path).into_owned();
        }
        for evidence in &mut result.evidence {
            evidence.reference = redactor.mask_text(&evidence.reference).into_owned();
        }
        result.process = result.process.as_ref().map(|process| redactor.mask_json(process));
        if let Some(failure) = &mut result.failure {
            failure.message = redactor.mask_text(&failure.message).to_string();
            failure.help = failure.help.as_ref().map(|help| redactor.mask_text(help).to_string());
            failure.details =
                failure.details.as_ref().map(|details| Box::new(redactor.mask_json(details)));
        }
    }

    /// The files as one tool may touch them.
    pub(super) fn files(&self, tool: &'static str) -> FileAccess {
        let rules = self.shared.rules.get(tool).cloned();
        let rules = rules.unwrap_or_else(|| Arc::new(PathRules::nothing()));
        let redactor = self.redactor().clone();
        FileAccess { workspace: self.workspace().clone(), rules, tool, redactor }
    }
}

/// Arguments as they are recorded: what a URL has of user names and passwords is masked, although
/// no request is sent to one.
fn recorded(args: &Json) -> std::borrow::Cow<'_, Json> {
    use crate::http::without_credentials;
    let Some(url) = args.get("url").and_then(Json::as_str) else {
        return std::borrow::Cow::Borrowed(args);
    };
    let mut masked = args.clone();
    masked["url"] = Json::from(without_credentials(url));
    std::borrow::Cow::Owned(masked)
}

/// The arguments of a call, which fit the tool's schema.
pub(super) fn arguments<A: DeserializeOwned>(call: &Call) -> Result<A, Refusal> {
    A::deserialize(&call.args).map_err(|error| {
        let message = format!("the arguments do not fit `{}`: {error}", call.tool);
        Refusal::failed(Failure::new(Code::BAD_ARGUMENTS.as_str(), message))
    })
}

/// A call that was cancelled before its end.
pub(super) fn stopped() -> CallResult {
    let failure = Failure::new(Code::TOOL_STOPPED.as_str(), "the call was stopped");
    CallResult::failed(InvocationStatus::Failed, failure)
}

/// How far this machine holds the commands of specialists: the value for [`ToolboxParts::sandbox`].
pub fn sandbox_level(cap: SandboxCap) -> ApprovalLevel {
    match cap {
        SandboxCap::None => ApprovalLevel::None,
        SandboxCap::Kernel if KernelSandbox::detect().is_some() => ApprovalLevel::Kernel,
        SandboxCap::Kernel | SandboxCap::Process => ApprovalLevel::Process,
    }
}
