use crate::value::{Tier, ToolName};
use std::collections::BTreeMap;

/// `.kb/kb.config.json` or `.yml` (LANGUAGE §8); everything is optional.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// `llm.tiers`.
    pub tiers: BTreeMap<Tier, TierSettings>,
    /// `llm.prices`: dollars a million tokens by model name, before the built-in table.
    pub prices: BTreeMap<String, ModelPrice>,
    /// `orchestrator.escalation` (000 §12.5).
    pub escalation: EscalationLimits,
    /// `verifier.inconclusivePolicy.action` (000 §18.6).
    pub inconclusive: Option<super::InconclusivePolicy>,
    /// `tools.security` (003 §4.5, §12.3), by tool.
    pub tool_security: BTreeMap<ToolName, ToolSecurity>,
    /// `tools.security.allowed_tools`: nothing else may be called.
    pub allowed_tools: Option<Vec<ToolName>>,
    /// `tools.http.allowPrivate`: hosts (with port) that requests may reach although they are private.
    pub allowed_hosts: Vec<String>,
    /// `secrets`.
    pub secrets: BTreeMap<String, SecretSource>,
    /// `env.pass`: variables that shells get from `kb`'s own environment.
    pub env_pass: Vec<String>,
    /// `sandbox.require`: refuse to run below this level.
    pub sandbox_require: Option<ApprovalLevel>,
    /// `sandbox.processes`: where steps run.
    pub processes: ProcessChoice,
    /// `sandbox.criticalUnapprovedAt`; kernel unless said.
    pub critical_unapproved_at: Option<ApprovalLevel>,
    /// `sandbox.read`: further places that held commands may read; `~/` is the home directory.
    pub sandbox_read: Vec<String>,
    /// `sandbox.write`: further places that they may read and write.
    pub sandbox_write: Vec<String>,
    /// `journal.sync`.
    pub sync: SyncMode,
    /// `limits.maxParallel`, for playbooks that say none.
    pub max_parallel: Option<u32>,
    /// `testCommands`: texts that count as running the tests.
    pub test_commands: Vec<String>,
    /// Bounds that nothing would hold a run to yet, so that running is refused.
    pub not_yet: Vec<super::NotYet>,
}

impl Settings {
    /// These settings with every policy narrowed by others: what either forbids is forbidden.
    /// Models, prices and everything that is no policy stay as they are (LANGUAGE §9).
    #[must_use]
    pub fn narrowed_by(&self, present: &Settings) -> Settings {
        let mut narrowed = self.clone();
        for (tool, other) in &present.tool_security {
            narrowed.tool_security.entry(tool.clone()).or_default().narrow(other);
        }
        narrowed.allowed_tools = match (self.allowed_tools.clone(), &present.allowed_tools) {
            (Some(own), Some(other)) => {
                Some(own.into_iter().filter(|t| other.contains(t)).collect())
            }
            (own, other) => own.or_else(|| other.clone()),
        };
        narrowed.allowed_hosts.retain(|host| present.allowed_hosts.contains(host));
        narrowed.env_pass.retain(|name| present.env_pass.contains(name));
        narrowed.sandbox_read.retain(|place| present.sandbox_read.contains(place));
        narrowed.sandbox_write.retain(|place| present.sandbox_write.contains(place));
        narrowed.sandbox_require = self.sandbox_require.max(present.sandbox_require);
        narrowed.processes = self.processes.max(present.processes);
        // Without a word the level is `kernel`, the strictest.
        let strictest = |level: Option<ApprovalLevel>| level.unwrap_or(ApprovalLevel::Kernel);
        let (own, other) = (self.critical_unapproved_at, present.critical_unapproved_at);
        narrowed.critical_unapproved_at = Some(strictest(own).max(strictest(other)));
        narrowed
    }
}

impl ToolSecurity {
    fn narrow(&mut self, other: &ToolSecurity) {
        if other.enabled == Some(false) {
            self.enabled = Some(false);
        }
        if other.requires_approval == Some(true) {
            self.requires_approval = Some(true);
        }
        if self.allowed_paths.is_none() {
            self.allowed_paths.clone_from(&other.allowed_paths);
        }
        self.denied_paths.extend(other.denied_paths.iter().cloned());
    }
}

/// One tier's model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TierSettings {
    /// `anthropic`, `openai`, `gemini`, `ollama`, `openai-compatible`, … or absent with an endpoint.
    pub provider: Option<String>,
    /// The model's name at its provider.
    pub model: String,
    /// Base URL, such as `http://127.0.0.1:11434/v1`.
    pub endpoint: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// Dollars a million tokens.
    pub price: Option<ModelPrice>,
}

/// Dollars a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModelPrice {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the provider's cache; as `input` where absent.
    pub cached_input: Option<f64>,
}

/// `orchestrator.escalation`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EscalationLimits {
    /// `maxEscalationsPerSpecialist`.
    pub per_specialist: Option<u32>,
    /// `maxLargeTierUsesPerRun`.
    pub large_uses: Option<u32>,
    /// `maxCostUsdPerRun`.
    pub max_cost_usd: Option<f64>,
    /// `warnCostUsdThreshold`.
    pub warn_cost_usd: Option<f64>,
    /// `defaultLadder`, by specialist id.
    pub ladders: BTreeMap<String, Vec<Tier>>,
}

/// What a tool may touch; only ever narrows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSecurity {
    /// `enabled: false` switches it off.
    pub enabled: Option<bool>,
    /// `requires_approval`.
    pub requires_approval: Option<bool>,
    /// Globs; where given, nothing else may be touched.
    pub allowed_paths: Option<Vec<String>>,
    /// Globs that may never be touched.
    pub denied_paths: Vec<String>,
}

/// Where a secret's value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// `env:NAME`.
    Env(String),
    /// `file:PATH`.
    File(String),
    /// `command: [argv]`.
    Command(Vec<String>),
}

/// How far a process is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalLevel {
    /// Not at all.
    None,
    /// Its processes end with the step.
    Process,
    /// The kernel holds what it reads and writes.
    Kernel,
}

impl ApprovalLevel {
    /// The name of a level, as settings write it.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalLevel::None => "none",
            ApprovalLevel::Process => "process",
            ApprovalLevel::Kernel => "kernel",
        }
    }
}

/// `sandbox.processes`, from the weakest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ProcessChoice {
    /// In process groups, also where namespaces are allowed.
    Group,
    /// In PID namespaces where the system allows them, else in process groups.
    #[default]
    Auto,
    /// In PID namespaces or not at all.
    PidNamespace,
}

/// `journal.sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// Durable events are synced first, ordered ones within 50 ms.
    #[default]
    Normal,
    /// Everything is synced first.
    Full,
}
