use crate::definition::Schema;
use crate::diagnostic::Span;
use crate::value::{Digest, SpecialistId, Tier, ToolName};
use std::time::Duration;

/// A checked specialist, whichever form it was written in (LANGUAGE §7).
#[derive(Debug, Clone)]
pub struct Specialist {
    /// Its id; an agent profile's is its path as `agent:` writes it.
    pub id: SpecialistId,
    /// Its own version.
    pub version: Option<String>,
    /// For people.
    pub name: String,
    /// For people, and for whoever chooses a specialist.
    pub description: Option<String>,
    /// For people.
    pub emoji: Option<String>,
    /// The system prompt.
    pub role: String,
    /// Knowledge that goes with every task.
    pub static_context: Option<String>,
    /// Past tasks and how they went.
    pub examples: Vec<Example>,
    /// Which model.
    pub model: ModelChoice,
    /// Bounds of one attempt.
    pub limits: LoopLimits,
    /// The whitelist; globs `fs:*` are already expanded against the known tools.
    pub tools: Vec<ToolName>,
    /// Whitelisted tools that this version does not know; calling one is a policy denial.
    pub unknown_tools: Vec<ToolName>,
    /// Rules, for the prompt.
    pub constraints: Vec<String>,
    /// What it can do, for people and choosers.
    pub capabilities: Vec<String>,
    /// What it is given.
    pub input_schema: Option<Schema>,
    /// Whether input that does not fit is an error instead of a warning.
    pub strict_input: bool,
    /// What it hands back; `summary` is always there.
    pub output_schema: Option<Schema>,
    /// Its file as people know it.
    pub path: String,
    /// Where its id is written.
    pub span: Span,
    /// Digest of its file.
    pub digest: Digest,
}

impl Specialist {
    /// One that says nothing but its id: the defaults of 000 §11.
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
            model: ModelChoice {
                tier: Tier::Medium,
                model: None,
                temperature: None,
                max_tokens: None,
                ladder: Vec::new(),
                fallback: None,
            },
            limits: LoopLimits {
                max_steps: 15,
                max_tool_calls: 20,
                timeout: Duration::from_secs(300),
                forced_reasoning_interval: None,
            },
            tools: Vec::new(),
            unknown_tools: Vec::new(),
            constraints: Vec::new(),
            capabilities: Vec::new(),
            input_schema: None,
            strict_input: false,
            output_schema: None,
            path: path.to_owned(),
            span,
            digest,
        }
    }

    /// Whether one of its tools writes files or runs commands.
    pub fn writes(&self) -> bool {
        self.tools.iter().any(|tool| {
            matches!(tool.as_str(), "fs:write" | "fs:edit" | "fs:delete" | "shell:exec")
        })
    }
}

/// A past task, for the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// What was asked.
    pub task: String,
    /// How it was done.
    pub approach: String,
    /// What came out.
    pub outcome: String,
}

/// `llm:` (or 003's `brain:`).
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// `medium` unless said.
    pub tier: Tier,
    /// A model by name; holds over the tier.
    pub model: Option<String>,
    /// 0–2.
    pub temperature: Option<f64>,
    /// The longest answer of one call.
    pub max_tokens: Option<u32>,
    /// Tiers that escalation may climb, in order.
    pub ladder: Vec<Tier>,
    /// A model to try when the first one cannot be had.
    pub fallback: Option<String>,
}

/// `limits:` of a specialist; the defaults are 000 §11.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopLimits {
    /// Model calls; 15 unless said.
    pub max_steps: u32,
    /// Tool calls; 20 unless said.
    pub max_tool_calls: u32,
    /// One attempt; 5 minutes unless said.
    pub timeout: Duration,
    /// A turn without tools after this many calls; `None`: never.
    pub forced_reasoning_interval: Option<u32>,
}
