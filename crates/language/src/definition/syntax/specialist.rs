//! Decodes specialists (`kb.specialist/1`), and the keys that all forms of a specialist share.

use super::coding_agent::coding_agent;
use super::mcp::{allow_own, mcp_servers};
use super::memory::memory_use;
use super::model_choice::{brain, llm};
use super::tool_security::specialist_security;
use super::{Decoder, Fields, Node};
use crate::definition::keys;
use crate::definition::keys::choice_tables::{INPUT_POLICY, OUTPUT_FORMAT};
use crate::definition::kind::profile_path;
use crate::definition::model::{
    Capability, Example, LoopLimits, LoopPhases, Retrieval, Specialist,
};
use crate::definition::schema::Schema;
use crate::definition::settings::GlobalLimits;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{Digest, SpecialistId};
use std::time::Duration;
use unicode_normalization::UnicodeNormalization;

/// Decodes a specialist file (`kb.specialist/1`).
pub(crate) fn specialist(
    root: &Node,
    path: &str,
    digest: Digest,
    decoder: &mut Decoder,
) -> Option<Specialist> {
    let fields = decoder.fields(root, &keys::specialist::SPECIALIST)?;
    decoder.schema_version(&fields, "kb.specialist/1", "a specialist");
    let node = decoder.required(&fields, "id");
    let id = node.and_then(|node| Some((decoder.specialist_id(node)?, node.span)));
    let placeholder = SpecialistId::new("_").or_else(|_| SpecialistId::new("a")).ok()?;
    let mut found = Specialist::bare(placeholder, fields.span, path, digest);
    coding_agent(&fields, &mut found, decoder);
    common(&fields, &mut found, decoder);
    limits_of_texts(&fields, decoder);
    let (id, span) = id?;
    if found.name.is_empty() {
        found.name = id.to_string();
    }
    found.id = id;
    found.span = span;
    finish_role(&mut found);
    Some(found)
}

/// Reports a version that is none, and names and a role that say nothing. Files of other programs may have them.
fn limits_of_texts(fields: &Fields<'_>, decoder: &mut Decoder) {
    if let Some(node) = fields.get("version")
        && let super::Value::Scalar(super::Scalar { text, .. }) = &node.value
        && !text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    {
        let message = format!("`{text}` is no version");
        decoder.bad_value(node.span, message, "write numbers with dots, such as 1.0.0".to_owned());
    }
    let display = fields.get("display").and_then(|display| display.get("name"));
    let texts = [("role", fields.get("role")), ("name", fields.get("name")), ("name", display)];
    for (key, node) in texts.into_iter().filter_map(|(key, node)| Some((key, node?))) {
        if node.as_text().is_some_and(|text| text.trim().is_empty()) {
            let help = format!("write a text, or remove `{key}`");
            decoder.bad_value(node.span, format!("`{key}` is empty"), help);
        }
    }
}

/// Decodes the keys that all forms of a specialist share.
pub(crate) fn common(fields: &Fields<'_>, found: &mut Specialist, decoder: &mut Decoder) {
    found.name = fields.text("name", decoder).unwrap_or_default();
    found.version =
        fields.get("version").and_then(|n| decoder.scalar(n, "version")).map(str::to_owned);
    found.description = fields.text("description", decoder);
    if let Some(node) = fields.get("display") {
        display(node, found, decoder);
    }
    found.role = fields.text("role", decoder).unwrap_or_default();
    found.static_context = fields.text("staticContext", decoder);
    if let Some(node) = fields.get("context") {
        context(node, found, decoder);
    }
    found.examples = fields.get("examples").map(|node| examples(node, decoder)).unwrap_or_default();
    if let Some(node) = fields.get("llm") {
        llm(node, found, decoder);
    }
    if let Some(node) = fields.get("brain") {
        brain(node, found, decoder);
    }
    let steps_given =
        fields.get("limits").is_some_and(|node| limits(node, &mut found.limits, decoder));
    if let Some(node) = fields.get("agentLoop") {
        agent_loop(node, &mut found.limits, steps_given, decoder);
    }
    let interval = fields.integer("forcedReasoningInterval", decoder);
    found.limits.forced_reasoning_interval = interval.or(found.limits.forced_reasoning_interval);
    if let Some(node) = fields.get("mcpServers") {
        mcp_servers(node, found, decoder);
    }
    if let Some(node) = fields.get("tools") {
        decoder.tools(node, found);
    }
    allow_own(fields.get("tools"), found, decoder);
    if let Some(node) = fields.get("memory") {
        memory_use(node, found, decoder);
    }
    if let Some(node) = fields.get("security") {
        specialist_security(node, found, decoder);
    }
    let limits = fields.get("globalLimits").and_then(|node| GlobalLimits::from_node(node, decoder));
    if let Some(limits) = limits {
        found.global = found.global.narrowed_by(&limits);
    }
    found.network = fields.choice("network", decoder).unwrap_or_default();
    found.constraints = fields.texts("constraints", decoder);
    if let Some(node) = fields.get("capabilities") {
        capabilities(node, found, decoder);
    }
    if let Some(node) = fields.get("input") {
        let inner = decoder.fields(node, &keys::specialist::INPUT);
        let schema = inner.and_then(|inner| inner.get("schema"));
        found.input_schema = schema.and_then(|node| Schema::decode(node, decoder));
    }
    found.strict_input = fields.one_of("inputPolicy", INPUT_POLICY, decoder).unwrap_or(false);
    if let Some(node) = fields.get("output") {
        found.output_schema = output(node, decoder);
    }
    found.singleton = decoder.singleton(fields);
    decoder.unsupported(fields);
    found.not_yet.append(&mut decoder.refused);
}

/// Sets the system prompt of a specialist without one from its name and description.
pub(crate) fn finish_role(found: &mut Specialist) {
    if found.role.trim().is_empty() {
        found.role = match &found.description {
            Some(description) => format!("You are {}. {description}", found.name),
            None => format!("You are {}.", found.name),
        };
    }
}

impl Decoder {
    /// Decodes the id of a specialist.
    pub(crate) fn specialist_id(&mut self, node: &Node) -> Option<SpecialistId> {
        let text = self.text(node, "id")?;
        let normal: String = profile_path(text).nfc().collect();
        match SpecialistId::new(&normal) {
            Ok(id) => Some(id),
            Err(error) => {
                let message = format!("`{text}` cannot be the id of a specialist");
                let help = format!("use {}", error.expected);
                self.push(Diagnostic::error(Code::BAD_ID, node.span, message).help(help));
                None
            }
        }
    }
}

/// Decodes `display:`.
pub(crate) fn display(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &keys::specialist::DISPLAY) else { return };
    if let Some(name) = fields.text("name", decoder) {
        found.name = name;
    }
    if let Some(description) = fields.text("description", decoder) {
        found.description = Some(description);
    }
    found.emoji = fields.text("emoji", decoder);
    decoder.unsupported(&fields);
}

/// Decodes `context:`, a profile or a map. `context.system` is the system prompt, or additional context next to a `role`.
fn context(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    if node.as_text().is_some() {
        found.context = decoder.choice(node, "context");
        return;
    }
    let Some(fields) = decoder.fields(node, &keys::context::CONTEXT) else { return };
    found.context = fields.choice("profile", decoder);
    found.retrieval = fields.get("rag").and_then(|node| retrieval(node, decoder));
    if let Some(system) = fields.text("system", decoder) {
        if found.role.is_empty() {
            found.role = system;
        } else {
            let rest = found.static_context.take().unwrap_or_default();
            found.static_context = Some(format!("{system}\n{rest}").trim_end().to_owned());
        }
    }
    decoder.unsupported(&fields);
}

/// Decodes `context.rag`; `None` if it is not enabled.
fn retrieval(node: &Node, decoder: &mut Decoder) -> Option<Retrieval> {
    let fields = decoder.fields(node, &keys::context::RAG)?;
    let enabled = fields.boolean("enabled", decoder).unwrap_or(true);
    let scope = fields.text("scope", decoder);
    let max_chunks = fields.integer("maxChunks", decoder).unwrap_or(5);
    enabled.then_some(Retrieval { scope, max_chunks })
}

fn examples(node: &Node, decoder: &mut Decoder) -> Vec<Example> {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "examples", "a list of `{task, approach, outcome}`");
        return Vec::new();
    };
    items.iter().filter_map(|item| Example::from_node(item, decoder)).collect()
}

/// Decodes `limits:`. Returns whether it has `maxSteps`.
fn limits(node: &Node, limits: &mut LoopLimits, decoder: &mut Decoder) -> bool {
    let Some(fields) = decoder.fields(node, &keys::specialist::LIMITS) else { return false };
    let steps = fields.integer("maxSteps", decoder);
    limits.max_steps = steps.unwrap_or(limits.max_steps);
    limits.max_tool_calls =
        fields.integer("maxToolCalls", decoder).unwrap_or(limits.max_tool_calls);
    if let Some(millis) = fields.integer("timeoutMs", decoder) {
        limits.timeout = Duration::from_millis(u64::from(millis));
    }
    limits.timeout = fields.duration("timeout", decoder).unwrap_or(limits.timeout);
    limits.forced_reasoning_interval = fields.integer("forcedReasoningInterval", decoder);
    steps.is_some()
}

/// Decodes `agentLoop:`. Without `maxSteps`, the maximum of model calls follows from its limits.
pub(crate) fn agent_loop(
    node: &Node,
    limits: &mut LoopLimits,
    steps_given: bool,
    decoder: &mut Decoder,
) {
    let Some(fields) = decoder.fields(node, &keys::specialist::AGENT_LOOP) else { return };
    let calls = fields.integer("maxToolCalls", decoder);
    limits.max_tool_calls = calls.unwrap_or(limits.max_tool_calls);
    let phases = LoopPhases {
        rounds: fields.integer("maxIterations", decoder).unwrap_or(5),
        critique: fields.boolean("enableSelfCritique", decoder).unwrap_or(true),
    };
    limits.phases = Some(phases);
    if !steps_given {
        limits.max_steps = phases.model_calls(limits.max_tool_calls);
    }
}

/// Decodes `capabilities:`: names, or maps with a `name`, which steps can call.
pub(crate) fn capabilities(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
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

fn capability(node: &Node, found: &mut Specialist, decoder: &mut Decoder) -> Option<Capability> {
    let fields = decoder.fields(node, &keys::specialist::CAPABILITY)?;
    let name = decoder.required(&fields, "name").and_then(|node| decoder.text(node, "name"));
    let mut schema = |key: &str| fields.get(key).and_then(|node| Schema::decode(node, decoder));
    let (input_schema, output_schema) = (schema("inputSchema"), schema("outputSchema"));
    if let Some(node) = fields.get("toolsRequired") {
        let mut required = Specialist::bare(found.id.clone(), node.span, &found.path, found.digest);
        decoder.tools(node, &mut required);
        for tool in required.tools.iter().filter(|tool| !found.tools.contains(tool)) {
            let message = format!("the capability requires `{tool}`, which is not in `tools`");
            let help = format!("add `{tool}` to `tools` of the specialist");
            decoder.push(Diagnostic::error(Code::BAD_SETTING, node.span, message).help(help));
        }
    }
    let description = fields.text("description", decoder);
    let prompt = fields.text("promptTemplate", decoder);
    decoder.unsupported(&fields);
    Some(Capability { name: name?.to_owned(), description, input_schema, output_schema, prompt })
}

fn output(node: &Node, decoder: &mut Decoder) -> Option<Schema> {
    let fields = decoder.fields(node, &keys::specialist::OUTPUT)?;
    if let (Some(node), Some(false)) =
        (fields.get("format"), fields.one_of("format", OUTPUT_FORMAT, decoder))
    {
        decoder.unused("output.format", node.span);
    }
    fields.get("schema").and_then(|node| Schema::decode(node, decoder))
}
