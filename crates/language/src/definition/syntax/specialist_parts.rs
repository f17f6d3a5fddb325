//! Decodes the maps inside a specialist.

use super::allow_list::AllowList;
use super::{Decoder, Node, Unread};
use crate::definition::keys::KeyType::{Choice, Integer};
use crate::definition::keys::{choice_table, keys};
use crate::definition::model::{
    Capability, ContextProfile, LoopLimits, LoopPhases, Retrieval, Specialist,
};
use crate::definition::schema::Schema;
use kb_base::diagnostic::{Code, Diagnostic};
use std::time::Duration;

keys! {
    /// How a specialist is shown.
    pub(super) struct Display(): DISPLAY = ("display", "`display`") {
        /// Display name.
        name: Option<String> = "name", example("Reviewer");
        /// Description shown in lists.
        description: Option<String> = "description", example("Reviews Rust code");
        /// Emoji in front of the name.
        emoji: Option<String> = "emoji", example("🔍");
        /// Name of an icon.
        _avatar: Unread = "avatar", example("robot"), unused;
        /// Color of the name.
        _color: Unread = "color", example("blue"), unused;
    }

    /// Context of a specialist.
    pub(super) struct Context(Default): CONTEXT = ("context", "`context`") {
        /// How much of its conversation the model sees.
        profile: Option<ContextProfile> = "profile";
        /// System prompt, or additional context next to a `role`.
        system: Option<String> = "system", example("Answer in English.");
        /// Parts of the project files with words of the task, in the first prompt.
        rag: Option<Rag> = "rag", example("{enabled: true}");
    }

    /// Parts of the project files that are added to the first prompt.
    pub(super) struct Rag(): RAG = ("rag", "`rag`") {
        /// Whether parts are looked up.
        enabled: bool = "enabled", default("true"), example("false");
        /// `code` or `docs`, a glob of paths, or words that are looked up beside the task.
        scope: Option<String> = "scope", example("docs");
        /// Maximum number of parts.
        max_chunks: u32 = "maxChunks" as Integer(1, 20), default("5");
    }

    /// Limits of one attempt of a specialist.
    pub(super) struct Limits(): LIMITS = ("specialistLimits", "`limits`") {
        /// Maximum number of model calls.
        max_steps: Option<u32> = "maxSteps" as Integer(1, 10_000), default("15");
        /// Maximum number of tool calls.
        max_tool_calls: Option<u32> = "maxToolCalls" as Integer(0, 10_000), default("20; 200 with `agent`");
        /// Time limit of the attempt.
        timeout: Option<Duration> = "timeout", default("5m; 30m with `agent`");
        /// Time limit of the attempt in milliseconds.
        timeout_ms: Option<u32> = "timeoutMs" as Integer(1, u32::MAX);
        /// Number of calls after which one turn must answer without tools.
        forced_reasoning: Option<u32> = "forcedReasoningInterval" as Integer(1, 100), default("never");
    }

    /// The phases of an attempt.
    pub(super) struct AgentLoop(): AGENT_LOOP = ("agentLoop", "`agent_loop`") {
        /// Maximum number of rounds of execution and critique.
        rounds: u32 = "maxIterations" as Integer(1, 1_000), default("5");
        /// Maximum number of tool calls; the same as `maxToolCalls` of `limits`.
        max_tool_calls: Option<u32> = "maxToolCalls" as Integer(1, 10_000), default("20");
        /// Whether the model reviews its output and can improve it.
        critique: bool = "enableSelfCritique", default("true");
    }

    /// A capability of a specialist.
    struct CapabilityKeys(): CAPABILITY = ("capability", "a capability") {
        /// Name of the capability.
        name: String = "name", required, example("write_article");
        /// Version of the capability.
        _version: Unread = "version", example("\"1.0\""), unused;
        /// What it does, for `kb specialist info`.
        description: Option<String> = "description", example("Writes an article");
        /// Schema of the `input` of a step that names the capability.
        input_schema: Option<Schema> = "inputSchema", example("{topic: string}");
        /// Schema of the output of such a step.
        output_schema: Option<Schema> = "outputSchema", example("{text: string}");
        /// Tools that the specialist must have for it.
        tools: AllowList = "toolsRequired", example("[fs:read]");
        /// The task of such a step; `{key}` stands for a value of its input.
        prompt: Option<String> = "promptTemplate", example("\"Write about {topic}.\"");
    }

    /// The input of a specialist.
    pub(super) struct Input(): INPUT = ("specialistInput", "`input`") {
        /// Schema of the `input` of a step.
        schema: Option<Schema> = "schema", example("{files: \"string[]\"}");
    }

    /// The output of a specialist.
    pub(super) struct Output(): OUTPUT = ("specialistOutput", "`output`") {
        /// Form of the output. It is always structured; `text` is reported and has no effect.
        _format: Option<bool> = "format" as Choice(OUTPUT_FORMAT_NAMES) => format;
        /// Schema of the output; `summary` is always part of it.
        schema: Option<Schema> = "schema", example("{files: \"string[]\"}");
    }
}

choice_table! {
    /// Whether `output.format` of a specialist is what every output is: structured.
    OUTPUT_FORMAT, OUTPUT_FORMAT_NAMES: bool = {
        "structured" => true,
        "json" => true,
        "text" => false,
    }
}

impl Display {
    /// Applies `display:`.
    pub(super) fn set(self, found: &mut Specialist) {
        found.name = self.name.unwrap_or(std::mem::take(&mut found.name));
        found.description = self.description.or(found.description.take());
        found.emoji = self.emoji;
    }
}

/// Decodes `context:`, a profile or a map.
pub(super) fn context(node: &Node, key: &str, decoder: &mut Decoder) -> Context {
    if node.as_text().is_some() {
        return Context { profile: decoder.choice(node, key), ..Context::default() };
    }
    Context::from_node(node, decoder).unwrap_or_default()
}

impl Context {
    /// Applies `context:`. `system` is the system prompt, or additional context next to a `role`.
    pub(super) fn set(self, found: &mut Specialist) {
        found.context = self.profile;
        let rag = self.rag.filter(|rag| rag.enabled);
        found.retrieval = rag.map(|rag| Retrieval { scope: rag.scope, max_chunks: rag.max_chunks });
        match self.system {
            Some(system) if found.role.is_empty() => found.role = system,
            Some(system) => {
                let rest = found.static_context.take().unwrap_or_default();
                found.static_context = Some(format!("{system}\n{rest}").trim_end().to_owned());
            }
            None => {}
        }
    }
}

impl Limits {
    /// Applies `limits:`.
    pub(super) fn set(self, limits: &mut LoopLimits) {
        limits.max_steps = self.max_steps.unwrap_or(limits.max_steps);
        limits.max_tool_calls = self.max_tool_calls.unwrap_or(limits.max_tool_calls);
        let milliseconds = self.timeout_ms.map(|millis| Duration::from_millis(millis.into()));
        limits.timeout = self.timeout.or(milliseconds).unwrap_or(limits.timeout);
        limits.forced_reasoning_interval = self.forced_reasoning;
    }
}

impl AgentLoop {
    /// Applies `agentLoop:`. Without `maxSteps`, the maximum of model calls follows from its limits.
    pub(super) fn set(self, limits: &mut LoopLimits, steps_given: bool) {
        limits.max_tool_calls = self.max_tool_calls.unwrap_or(limits.max_tool_calls);
        let phases = LoopPhases { rounds: self.rounds, critique: self.critique };
        limits.phases = Some(phases);
        if !steps_given {
            limits.max_steps = phases.model_calls(limits.max_tool_calls);
        }
    }
}

/// Decodes `capabilities:`: names, or maps with a `name`, which steps can call.
pub(super) fn capabilities(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    for item in decoder.list(node, "capabilities") {
        if item.as_map().is_none() {
            let name = decoder.text(item, "capabilities").map(str::to_owned);
            found.capabilities.extend(name);
            continue;
        }
        if let Some(own) = capability(item, found, decoder) {
            let description = own.description.as_ref().map(|text| format!(": {text}"));
            found.capabilities.push(own.name.clone() + &description.unwrap_or_default());
            found.callable.push(own);
        }
    }
}

fn capability(node: &Node, found: &Specialist, decoder: &mut Decoder) -> Option<Capability> {
    let fields = decoder.fields(node, &CAPABILITY)?;
    let CapabilityKeys { name, description, input_schema, output_schema, tools, prompt, .. } =
        CapabilityKeys::of(&fields, decoder)?;
    let at = fields.get("toolsRequired").map_or(fields.span, |node| node.span);
    for tool in tools.tools.iter().filter(|tool| !found.tools.contains(tool)) {
        let message = format!("the capability requires `{tool}`, which is not in `tools`");
        let help = format!("add `{tool}` to `tools` of the specialist");
        decoder.push(Diagnostic::error(Code::BAD_SETTING, at, message).help(help));
    }
    Some(Capability { name, description, input_schema, output_schema, prompt })
}

fn format(node: &Node, key: &str, decoder: &mut Decoder) -> Option<bool> {
    let structured = decoder.one_of(node, key, OUTPUT_FORMAT)?;
    if !structured {
        decoder.unused("output.format", node.span);
    }
    Some(structured)
}
