//! The JSON form of a specialist.

use kb_base::value::Json;
use kb_language::definition::Specialist;
use serde::Serialize;

/// A specialist, for `kb specialist list --json` and `info --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpecialistView {
    /// Id of the specialist.
    pub id: String,
    /// Path of its file.
    pub path: String,
    /// Display name.
    pub name: String,
    /// Human-readable description.
    pub description: Option<String>,
    /// Version of the specialist.
    pub version: Option<String>,
    /// Its system prompt.
    pub role: String,
    /// Rules that are added to the system prompt.
    pub constraints: Vec<String>,
    /// Context that is added to the system prompt.
    pub static_context: Option<String>,
    /// Examples that are added to the system prompt.
    pub examples: Vec<ExampleView>,
    /// The model tier that it asks for.
    pub tier: &'static str,
    /// A model by name, which takes precedence over the tier.
    pub model: Option<String>,
    /// How long the model reasons, if the specialist says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<&'static str>,
    /// How much of a conversation the model sees, if the specialist says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<&'static str>,
    /// Limits of one attempt.
    pub limits: SpecialistLimits,
    /// The tools that it may call.
    pub tools: Vec<String>,
    /// Listed tools that this version does not support.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_tools: Vec<String>,
    /// What it uses that is not supported yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_yet: Vec<String>,
    /// Whether one of its tools writes files or runs commands.
    pub writes: bool,
    /// Descriptions of its capabilities.
    pub capabilities: Vec<String>,
    /// JSON Schema of its input.
    pub input_schema: Option<Json>,
    /// JSON Schema of its output.
    pub output_schema: Option<Json>,
}

/// Limits of one attempt of a specialist.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpecialistLimits {
    /// Maximum number of model calls.
    pub max_steps: u32,
    /// Maximum number of tool calls.
    pub max_tool_calls: u32,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
    /// Maximum number of tokens of one response.
    pub max_tokens: Option<u32>,
    /// Maximum number of attempts after the first one; `null`: as the step allows.
    pub max_retries: Option<u32>,
}

/// An example in the system prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExampleView {
    /// The task of the example.
    pub task: String,
    /// How the task was done.
    pub approach: String,
    /// What the result was.
    pub outcome: String,
}

impl From<&Specialist> for SpecialistView {
    fn from(specialist: &Specialist) -> Self {
        let names =
            |tools: &[kb_base::value::ToolName]| tools.iter().map(|t| t.to_string()).collect();
        let example = |example: &kb_language::definition::Example| ExampleView {
            task: example.task.clone(),
            approach: example.approach.clone(),
            outcome: example.outcome.clone(),
        };
        let limits = &specialist.limits;
        SpecialistView {
            id: specialist.id.to_string(),
            path: specialist.path.clone(),
            name: specialist.name.clone(),
            description: specialist.description.clone(),
            version: specialist.version.clone(),
            role: specialist.role.clone(),
            constraints: specialist.constraints.clone(),
            static_context: specialist.static_context.clone(),
            examples: specialist.examples.iter().map(example).collect(),
            tier: specialist.model.tier.as_str(),
            model: specialist.model.model.clone(),
            reasoning: specialist.model.reasoning.map(|effort| effort.as_str()),
            context: specialist.context.map(|context| context.as_str()),
            limits: SpecialistLimits {
                max_steps: limits.max_steps,
                max_tool_calls: limits.max_tool_calls,
                timeout_ms: limits.timeout.as_millis() as u64,
                max_tokens: specialist.model.max_tokens,
                max_retries: limits.max_retries,
            },
            tools: specialist.tools.iter().map(ToString::to_string).collect(),
            unknown_tools: names(&specialist.unknown_tools),
            not_yet: specialist.not_yet.iter().map(|not_yet| not_yet.what.clone()).collect(),
            writes: specialist.writes(),
            capabilities: specialist.capabilities.clone(),
            input_schema: specialist.input_schema.as_ref().map(|schema| schema.json().clone()),
            output_schema: specialist.output_schema.as_ref().map(|schema| schema.json().clone()),
        }
    }
}
