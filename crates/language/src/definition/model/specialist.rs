//! The model of a specialist, shared by all forms in which one can be written.

use super::{
    AgentTools, Capability, CodingAgent, ContextProfile, McpServer, MemoryUse, NetworkAccess,
    NotYet, Reasoning, Retrieval,
};
use crate::definition::Schema;
use crate::definition::keys::keys;
use crate::definition::settings::{GlobalLimits, ToolRules};
use crate::toolspec::{DELEGATE, ToolSpec};
use kb_base::diagnostic::Span;
use kb_base::value::{Digest, SpecialistId, Tier, ToolName};
use std::sync::Arc;
use std::time::Duration;

/// A checked specialist, from any of the file forms (see `docs/reference/specialists.md`).
#[derive(Debug, Clone)]
pub struct Specialist {
    /// Unique id. The id of an agent profile is its path, as `agent:` writes it.
    pub id: SpecialistId,
    /// Version, for display.
    pub version: Option<String>,
    /// Display name. Default: the id.
    pub name: String,
    /// Description shown in lists and used to choose a specialist.
    pub description: Option<String>,
    /// Emoji for display.
    pub emoji: Option<String>,
    /// The system prompt, before `kb` adds the rules of its own.
    pub role: String,
    /// Context that is part of every prompt.
    pub static_context: Option<String>,
    /// Examples of past tasks for the prompt.
    pub examples: Vec<Example>,
    /// `agent`: the coding agent that does its work; `None`: `kb` calls a model.
    pub agent: Option<Arc<CodingAgent>>,
    /// Choice of the model.
    pub model: ModelChoice,
    /// `context`: how much of a conversation the model sees. `None`: as the settings, or as the context
    /// window of the model allows.
    pub context: Option<ContextProfile>,
    /// `context.rag`: parts of the project files in the first prompt; `None`: none are looked up.
    pub retrieval: Option<Retrieval>,
    /// Limits of one attempt.
    pub limits: LoopLimits,
    /// `globalLimits`, in addition to those of the settings.
    pub global: GlobalLimits,
    /// Allow-list of tools; globs such as `fs:*` are expanded.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Tools on the allow-list that are not supported yet; a call of one is denied by policy.
    pub unknown_tools: Vec<ToolName>,
    /// `memory`: what it is shown of the memory, and whether it can propose entries.
    pub memory: MemoryUse,
    /// `mcpServers`: the servers that it defines or names.
    pub mcp_servers: Vec<Arc<McpServer>>,
    /// `security`: restrictions of its tools, in addition to those of the settings.
    pub security: Option<Box<ToolRules>>,
    /// Rules for the prompt.
    pub constraints: Vec<String>,
    /// Names of its capabilities, for display and for choosing a specialist.
    pub capabilities: Vec<String>,
    /// Capabilities that steps can name.
    pub callable: Vec<Capability>,
    /// The capability that the step names; set when the plan is built.
    pub capability: Option<Capability>,
    /// `input.schema`: schema of the step's `input`.
    pub input_schema: Option<Schema>,
    /// `inputPolicy: strict`: invalid input is an error instead of a warning.
    pub strict_input: bool,
    /// `network`: the network that its commands can use.
    pub network: NetworkAccess,
    /// `output.schema`: schema of its output; `summary` is always part of it.
    pub output_schema: Option<Schema>,
    /// First part of the name of the lock that each of its attempts holds; `None`: they hold none.
    pub singleton: Option<String>,
    /// Path of the file, as diagnostics show it.
    pub path: String,
    /// Position of the id.
    pub span: Span,
    /// Digest of the file.
    pub digest: Digest,
    /// Features used here that are not supported yet. A run with this specialist is refused if there
    /// are any.
    pub not_yet: Vec<NotYet>,
}

impl Specialist {
    /// A specialist with this id and default values.
    pub fn bare(id: SpecialistId, span: Span, path: &str, digest: Digest) -> Specialist {
        Specialist {
            name: id.to_string(),
            id,
            version: None,
            description: None,
            emoji: None,
            role: String::new(),
            static_context: None,
            examples: Vec::new(),
            agent: None,
            model: ModelChoice {
                tier: Tier::Medium,
                model: None,
                provider: None,
                temperature: None,
                max_tokens: None,
                reasoning: None,
                ladder: Vec::new(),
                fallback: None,
            },
            context: None,
            retrieval: None,
            limits: LoopLimits {
                max_steps: 15,
                max_tool_calls: 20,
                timeout: Duration::from_secs(300),
                forced_reasoning_interval: None,
                phases: None,
                max_retries: None,
            },
            global: GlobalLimits::default(),
            tools: Vec::new(),
            unknown_tools: Vec::new(),
            memory: MemoryUse::default(),
            mcp_servers: Vec::new(),
            security: None,
            constraints: Vec::new(),
            capabilities: Vec::new(),
            callable: Vec::new(),
            capability: None,
            input_schema: None,
            strict_input: false,
            network: NetworkAccess::default(),
            output_schema: None,
            singleton: None,
            path: path.to_owned(),
            span,
            digest,
            not_yet: Vec::new(),
        }
    }

    /// The specialist for steps that name this capability: its schemas take the place of those of the
    /// specialist, and invalid input is an error. `None` if it has no such capability.
    pub fn with_capability(&self, name: &str) -> Option<Specialist> {
        let own = self.callable.iter().find(|own| own.name == name)?.clone();
        let mut chosen = self.clone();
        chosen.strict_input |= own.input_schema.is_some();
        chosen.input_schema = own.input_schema.clone().or(chosen.input_schema);
        chosen.output_schema = own.output_schema.clone().or(chosen.output_schema);
        chosen.capability = Some(own);
        Some(chosen)
    }

    /// The lock that each of its attempts holds, if it is a singleton. Locks of steps have no `:`.
    pub fn lock(&self) -> Option<String> {
        self.singleton.as_ref().map(|prefix| format!("{prefix}:{}", self.id))
    }

    /// Whether one of its tools can write files or run commands.
    pub fn writes(&self) -> bool {
        self.tools.iter().any(|tool| tool.writes)
    }

    /// Whether its agent can change files by itself, without a tool of its specialist.
    pub fn agent_writes(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.tools == AgentTools::Own) && self.writes()
    }

    /// Whether one of its tools changes files by itself: `delegate` leaves that to another specialist.
    pub fn writes_itself(&self) -> bool {
        self.tools.iter().any(|tool| tool.writes && tool.name != DELEGATE)
    }

    /// Whether files can outlive its work: it writes, or it is an agent, which executes code and can write in the
    /// caches of package managers and other places outside of the project.
    pub fn leaves_files(&self) -> bool {
        self.writes() || self.agent.is_some()
    }
}

keys! {
    /// An example of a past task.
    pub struct Example(Debug, Clone, PartialEq, Eq): EXAMPLE = ("example", "an example") {
        /// The task, as a step would give it.
        task: String = "task", required, example("Rename a flag");
        /// How the task was done.
        approach: String = "approach", required, example("Search and edit");
        /// The result.
        outcome: String = "outcome", required, example("3 files changed");
    }
}

/// `llm:`, or `brain:` of the `agent:` form.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// Model tier. Default: `medium`.
    pub tier: Tier,
    /// Model by name; takes precedence over the tier.
    pub model: Option<String>,
    /// Sampling temperature, 0–2. `None`: the provider's default.
    pub temperature: Option<f64>,
    /// Maximum tokens of one response. `None`: as the model allows, at most 16,384.
    pub max_tokens: Option<u32>,
    /// `reasoning`: how long the model reasons. `None`: as the settings, or the default of the model.
    pub reasoning: Option<Reasoning>,
    /// Tiers to escalate through, from small to large. Empty: the ladder of the settings.
    pub ladder: Vec<Tier>,
    /// The provider that has to serve the model. `None`: any.
    pub provider: Option<String>,
    /// Model to use if the first one is not available.
    pub fallback: Option<String>,
}

/// `limits:` of a specialist, for one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopLimits {
    /// Maximum number of model calls. Default: 15.
    pub max_steps: u32,
    /// Maximum number of tool calls. Default: 20.
    pub max_tool_calls: u32,
    /// Time limit of the attempt. Default: 5 minutes.
    pub timeout: Duration,
    /// Number of calls after which one turn must answer without tools. `None`: never.
    pub forced_reasoning_interval: Option<u32>,
    /// Maximum number of attempts after the first one. `None`: as the step allows.
    pub max_retries: Option<u32>,
    /// `agentLoop`: the attempt has phases. `None`: one loop of model calls and tool calls.
    pub phases: Option<LoopPhases>,
}

/// `agentLoop:` of a specialist: understand, plan, execute, critique, finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopPhases {
    /// Maximum number of rounds of execution and critique. Default: 5.
    pub rounds: u32,
    /// Whether the model reviews its output and can improve it. Default: yes.
    pub critique: bool,
}

impl LoopPhases {
    /// Model calls of an attempt without `maxSteps`: one for each tool call, two for the phases before the
    /// work, two for repairs, and two for each round: the output and its review.
    pub fn model_calls(self, tool_calls: u32) -> u32 {
        let rounds = self.rounds.saturating_mul(2);
        tool_calls.saturating_add(rounds).saturating_add(4).min(10_000)
    }
}
