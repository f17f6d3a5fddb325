//! The model of the project settings, and how settings narrow each other.

use super::{AuthorSandbox, CodingAgent, GlobalLimits, McpServer};
use kb_base::diagnostic::Span;
use kb_base::value::{Tier, ToolName};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The project settings, `.kb/kb.config.json` or `.yml`. Every key is optional (see
/// `docs/reference/settings.md`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// `llm.tiers`: the model of each tier.
    pub tiers: BTreeMap<Tier, TierSettings>,
    /// `llm.prices`: prices by model name; they take precedence over the built-in prices.
    pub prices: BTreeMap<String, ModelPrice>,
    /// `llm.maxInputTokens`: maximum tokens of the values in one prompt. `None`: 4,000.
    pub max_input_tokens: Option<u32>,
    /// `llm.context`: how much of a conversation models see. `None`: as the context window allows.
    pub context: Option<super::ContextProfile>,
    /// `llm.reasoning`: how long models reason. `None`: the default of the model.
    pub reasoning: Option<super::Reasoning>,
    /// `orchestrator.escalation`: limits of model escalation.
    pub escalation: EscalationLimits,
    /// `orchestrator.minConfidence`: confidence from which a plan runs without the approval of a person. `None`: 0.5.
    pub min_confidence: Option<f64>,
    /// `security.globalLimits`.
    pub global: GlobalLimits,
    /// `verifier.inconclusivePolicy` and `uncheckedPolicy`: defaults for `onInconclusive` and
    /// `onUnchecked`.
    pub undecided: super::Undecided,
    /// `retryWithProbes` and `maxRetries`: how often a probe that could not decide is repeated.
    pub probe_retries: u32,
    /// `verifier.judge`: defaults of `judge` checks.
    pub judge: super::JudgeCheck,
    /// `verifier.judgeEveryAnswer`: whether the gate of each specialist step has a `judge` check.
    pub judge_every_answer: bool,
    /// `verifier.strict`: whether steps whose gate did not pass fail the command.
    pub strict: bool,
    /// `tools.security`: restrictions by tool.
    pub tool_security: BTreeMap<ToolName, ToolSecurity>,
    /// `tools.security.allowed_tools`: no other tool may be called.
    pub allowed_tools: Option<Vec<ToolName>>,
    /// `tools.http.allowPrivate`: private hosts (with port) that HTTP requests may reach.
    pub allowed_hosts: Vec<String>,
    /// `secrets`: where the value of each secret is stored.
    pub secrets: BTreeMap<String, SecretSource>,
    /// `env.pass`: variables that processes inherit from the environment of `kb`.
    pub env_pass: Vec<String>,
    /// `sandbox.require`: minimum sandbox level; runs below it are refused.
    pub sandbox_require: Option<ApprovalLevel>,
    /// `sandbox.processes`: how the processes of a step are isolated.
    pub processes: ProcessChoice,
    /// `sandbox.criticalUnapprovedAt`: sandbox level from which critical tools run without approval.
    /// `None`: `kernel`.
    pub critical_unapproved_at: Option<ApprovalLevel>,
    /// `sandbox.steps`: when the commands of a step of the author that does not say so itself run in the sandbox.
    pub sandbox_steps: AuthorSandbox,
    /// `sandbox.read`: additional paths that sandboxed commands may read; `~/` is the home directory.
    pub sandbox_read: Vec<String>,
    /// `sandbox.write`: additional paths that sandboxed commands may read and write.
    pub sandbox_write: Vec<String>,
    /// `journal.sync`: when the journal is synced to disk.
    pub sync: SyncMode,
    /// `journal.prompts`: whether the journal keeps the prompts of model calls.
    pub prompts: PromptRecording,
    /// `journal.stepLogMib` and `journal.runLogMib`: output that is kept.
    pub logs: LogBudget,
    /// `journal.retention`: age from which `kb run prune` removes ended runs. `None`: 30 days.
    pub retention: Option<Duration>,
    /// `cache.maxMib`: size above which stored results are removed. `None`: 1024.
    pub cache_mib: Option<u32>,
    /// `memory`: what is remembered across runs.
    pub memory: super::MemorySettings,
    /// `limits.maxParallel`: maximum parallel steps of playbooks without a limit of their own.
    pub max_parallel: Option<u32>,
    /// `serve.maxRuns`: maximum runs that the daemon keeps running. `None`: the number of processors.
    pub max_runs: Option<u32>,
    /// `serve.projects`: further projects that the daemon of this project serves.
    pub projects: Vec<String>,
    /// `serve.queues`.
    pub queues: Vec<Queue>,
    /// `serve.userHeader`: the header of a proxy with the name of the person.
    pub user_header: Option<String>,
    /// `serve.url`: the address of the pages in notifications, without a slash at its end.
    pub url: Option<String>,
    /// `serve.traces`: where the traces of runs are sent.
    pub traces: Option<Box<TraceSettings>>,
    /// `notify`: the receivers of notifications about runs.
    pub notify: Vec<super::NotifyHook>,
    /// `mcp.servers`: servers of the Model Context Protocol, by name.
    pub mcp: BTreeMap<String, Arc<McpServer>>,
    /// `agents`: coding agents by name.
    pub agents: BTreeMap<String, Arc<CodingAgent>>,
    /// `testCommands`: command texts that count as a test run.
    pub test_commands: Vec<String>,
    /// Limits in these settings that are not supported yet. A run is refused if there are any.
    pub not_yet: Vec<super::NotYet>,
}

/// `serve.queues`: playbooks whose runs share a limit and a priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The name, unique in the settings.
    pub name: String,
    /// Ids of the playbooks. A playbook is in at most one queue.
    pub playbooks: Vec<String>,
    /// Maximum number of their runs that have started and not ended.
    pub max_runs: Option<u32>,
    /// Waiting starts with the highest priority are next.
    pub priority: u32,
}

impl Queue {
    /// The priority of playbooks without a queue, and of a queue that names none.
    pub const PRIORITY: u32 = 100;
}

/// `serve.traces`: where the traces of runs are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// Address of the collector, `env:NAME` or `file:PATH`.
    pub endpoint: String,
    /// Headers of each request; values may be references.
    pub headers: BTreeMap<String, String>,
    /// `service.name` of the spans.
    pub service: String,
}

/// The output of processes that the journal keeps, in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBudget {
    /// `journal.stepLogMib`: of one attempt of a step.
    pub step_mib: u32,
    /// `journal.runLogMib`: of all attempts of a run.
    pub run_mib: u32,
}

impl Default for LogBudget {
    fn default() -> Self {
        LogBudget { step_mib: 64, run_mib: 4096 }
    }
}

impl Settings {
    /// These settings, with every policy narrowed by `present`: what either forbids is forbidden.
    /// Keys that are not policies, such as models and prices, keep their values.
    ///
    /// It names every field, so that a new one does not compile before it is listed here, as a policy or not.
    #[must_use]
    pub fn narrowed_by(&self, present: &Settings) -> Settings {
        let mut own = self.clone();
        for (tool, other) in &present.tool_security {
            own.tool_security.entry(tool.clone()).or_default().narrow(other);
        }
        if let Some(allowed) = &present.allowed_tools {
            own.allow_only(allowed.clone());
        }
        let both = |own: Vec<String>, present: &[String]| {
            own.into_iter().filter(|entry| present.contains(entry)).collect()
        };
        // The default is `kernel`, the strictest level.
        let strictest = |level: Option<ApprovalLevel>| level.unwrap_or(ApprovalLevel::Kernel);
        let unapproved_at =
            strictest(own.critical_unapproved_at).max(strictest(present.critical_unapproved_at));
        Settings {
            tool_security: own.tool_security,
            allowed_tools: own.allowed_tools,
            global: own.global.lower(present.global),
            allowed_hosts: both(own.allowed_hosts, &present.allowed_hosts),
            env_pass: both(own.env_pass, &present.env_pass),
            sandbox_read: both(own.sandbox_read, &present.sandbox_read),
            sandbox_write: both(own.sandbox_write, &present.sandbox_write),
            sandbox_require: own.sandbox_require.max(present.sandbox_require),
            sandbox_steps: own.sandbox_steps.max(present.sandbox_steps),
            critical_unapproved_at: Some(unapproved_at),
            strict: own.strict || present.strict,
            min_confidence: match (own.min_confidence, present.min_confidence) {
                (Some(own), Some(present)) => Some(own.max(present)),
                (own, present) => own.or(present),
            },
            processes: own.processes.max(present.processes),
            prompts: own.prompts.max(present.prompts),
            memory: super::MemorySettings {
                enabled: own.memory.enabled && present.memory.enabled,
                ..own.memory
            },
            // Not policies.
            tiers: own.tiers,
            prices: own.prices,
            max_input_tokens: own.max_input_tokens,
            context: own.context,
            reasoning: own.reasoning,
            escalation: own.escalation,
            undecided: own.undecided,
            probe_retries: own.probe_retries,
            judge: own.judge,
            judge_every_answer: own.judge_every_answer,
            secrets: own.secrets,
            sync: own.sync,
            logs: own.logs,
            retention: own.retention,
            cache_mib: own.cache_mib,
            max_parallel: own.max_parallel,
            max_runs: own.max_runs,
            projects: own.projects,
            queues: own.queues,
            user_header: own.user_header,
            url: own.url,
            traces: own.traces,
            notify: own.notify,
            mcp: own.mcp,
            agents: own.agents,
            test_commands: own.test_commands,
            not_yet: own.not_yet,
        }
    }
}

impl Settings {
    /// The queue that a playbook is in.
    pub fn queue_of(&self, playbook: &str) -> Option<&Queue> {
        self.queues.iter().find(|queue| queue.playbooks.iter().any(|id| id == playbook))
    }

    /// Restricts the callable tools to `allowed`, in addition to earlier restrictions.
    pub(in crate::definition) fn allow_only(&mut self, mut allowed: Vec<ToolName>) {
        if let Some(earlier) = &self.allowed_tools {
            allowed.retain(|tool| earlier.contains(tool));
        }
        self.allowed_tools = Some(allowed);
    }
}

impl ToolSecurity {
    /// Adds the restrictions of another entry: what either forbids is forbidden.
    pub fn narrow(&mut self, other: &ToolSecurity) {
        let ToolSecurity { enabled, requires_approval, allowed_paths, denied_paths } = other;
        if *enabled == Some(false) {
            self.enabled = Some(false);
        }
        if *requires_approval == Some(true) {
            self.requires_approval = Some(true);
        }
        self.allowed_paths.extend(allowed_paths.iter().cloned());
        self.denied_paths.extend(denied_paths.iter().cloned());
    }
}

/// The model of one tier.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TierSettings {
    /// `anthropic`, `openai`, `gemini`, `ollama`, `openai-compatible`, …; optional with an endpoint.
    pub provider: Option<String>,
    /// Name of the model, as the provider spells it.
    pub model: String,
    /// Base URL, such as `http://127.0.0.1:11434/v1`.
    pub endpoint: Option<String>,
    /// Environment variable that contains the API key.
    pub api_key_env: Option<String>,
    /// Price of the model; `None`: the built-in price.
    pub price: Option<ModelPrice>,
    /// `contextWindow`: tokens that prompt and response may have together. `None`: the built-in size.
    pub context_window: Option<u32>,
    /// `maxOutputTokens`: maximum tokens of one response. `None`: the built-in limit.
    pub max_output: Option<u32>,
    /// `stream: false` requests whole responses, for servers that do not stream.
    pub stream: Option<bool>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModelPrice {
    /// Price of prompt tokens.
    pub input: f64,
    /// Price of completion tokens.
    pub output: f64,
    /// Price of prompt tokens read from the provider's cache. `None`: as `input`.
    pub cached_input: Option<f64>,
    /// Price of prompt tokens written to the provider's cache. `None`: as `input`.
    pub cache_write: Option<f64>,
}

/// `orchestrator.escalation`: limits of model escalation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EscalationLimits {
    /// `maxEscalationsPerSpecialist`: maximum escalations of one specialist in a run.
    pub per_specialist: Option<u32>,
    /// `maxLargeTierUsesPerRun`: attempts with the large tier from which a run escalates to it no
    /// more.
    pub large_uses: Option<u32>,
    /// `maxCostUsdPerRun`: maximum cost of a run in US dollars.
    pub max_cost_usd: Option<f64>,
    /// `warnCostUsdThreshold`: cost in US dollars from which a run warns.
    pub warn_cost_usd: Option<f64>,
    /// `budgetAllocation`: shares of the budget of a run in percent, by specialist id.
    pub shares: BTreeMap<String, u32>,
    /// `defaultLadder`: tiers to escalate through, by specialist id.
    pub ladders: BTreeMap<String, Vec<Tier>>,
    /// Where `budgetAllocation` and `defaultLadder` name specialists.
    pub named: Vec<(String, Span)>,
}

/// Restrictions of one tool. They can only narrow what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSecurity {
    /// `enabled: false` denies every call.
    pub enabled: Option<bool>,
    /// `requiresApproval: true` makes every call wait for an approval.
    pub requires_approval: Option<bool>,
    /// Globs of the only paths that the tool may access. A path must match every list.
    pub allowed_paths: Vec<Vec<String>>,
    /// Globs of paths that the tool may not access.
    pub denied_paths: Vec<String>,
}

/// The source of a secret's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// `env:NAME`: an environment variable.
    Env(String),
    /// `file:PATH`: the content of a file.
    File(String),
    /// `command: [argv]`: the output of a command.
    Command(Vec<String>),
}

/// A sandbox level: how far a process is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalLevel {
    /// Nothing restricts the commands.
    None,
    /// Its processes are stopped when the step ends.
    Process,
    /// The kernel restricts which files it reads and writes.
    Kernel,
}

impl ApprovalLevel {
    /// The name of the level in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalLevel::None => "none",
            ApprovalLevel::Process => "process",
            ApprovalLevel::Kernel => "kernel",
        }
    }
}

/// `sandbox.processes`, from weakest to strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ProcessChoice {
    /// Process groups, even if PID namespaces are available.
    Group,
    /// PID namespaces if the system allows them, else process groups.
    #[default]
    Auto,
    /// PID namespaces; runs are refused without them.
    PidNamespace,
}

/// `journal.prompts`: what the journal keeps of the prompts of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PromptRecording {
    /// Every message, masked, each stored once per attempt.
    #[default]
    Full,
    /// Only the digests of prompts and responses are kept.
    Digest,
}

/// `journal.sync`: when events are synced to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// Durable events before their effect, other events within 50 ms.
    #[default]
    Normal,
    /// Every event before its effect.
    Full,
}
