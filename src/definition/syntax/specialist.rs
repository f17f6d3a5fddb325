//! Decodes specialists (`kb.specialist/1`), and the keys that all forms of a specialist share.

use super::model_choice::{brain, llm};
use super::step_kind::profile_path;
use super::{Decoder, Fields, Node};
use crate::definition::model::{Example, LoopLimits, Specialist};
use crate::definition::schema::Schema;
use crate::diagnostic::{Code, Diagnostic};
use crate::value::{Digest, SpecialistId};
use std::time::Duration;
use unicode_normalization::UnicodeNormalization;

const KEYS: [&str; 22] = [
    "schema",
    "id",
    "name",
    "version",
    "description",
    "display",
    "role",
    "context",
    "staticContext",
    "examples",
    "llm",
    "limits",
    "forcedReasoningInterval",
    "tools",
    "constraints",
    "capabilities",
    "input",
    "inputPolicy",
    "output",
    "mcpServers",
    "brain",
    "memory",
];

/// Decodes a specialist file (`kb.specialist/1`).
pub(crate) fn specialist(
    root: &Node,
    path: &str,
    digest: Digest,
    decoder: &mut Decoder,
) -> Option<Specialist> {
    let fields = decoder.fields(root, "a specialist", &KEYS)?;
    decoder.schema_version(&fields, "kb.specialist/1", "a specialist");
    let node = decoder.required(&fields, "id", "a specialist");
    let id = node.and_then(|node| Some((decoder.specialist_id(node)?, node.span)));
    let placeholder = SpecialistId::new("_").or_else(|_| SpecialistId::new("a")).ok()?;
    let mut found = Specialist::bare(placeholder, fields.span, path, digest);
    common(&fields, &mut found, decoder);
    let (id, span) = id?;
    if found.name.is_empty() {
        found.name = id.to_string();
    }
    found.id = id;
    found.span = span;
    finish_role(&mut found);
    Some(found)
}

/// Decodes the keys that all forms of a specialist share.
pub(crate) fn common(fields: &Fields<'_>, found: &mut Specialist, decoder: &mut Decoder) {
    found.name = text(fields, "name", decoder).unwrap_or_default();
    found.version =
        fields.get("version").and_then(|n| decoder.scalar(n, "version")).map(str::to_owned);
    found.description = text(fields, "description", decoder);
    if let Some(node) = fields.get("display") {
        display(node, found, decoder);
    }
    found.role = text(fields, "role", decoder).unwrap_or_default();
    found.static_context = text(fields, "staticContext", decoder);
    if let Some(node) = fields.get("context") {
        context(node, found, decoder);
    }
    found.examples = fields.get("examples").map(|node| examples(node, decoder)).unwrap_or_default();
    if let Some(node) = fields.get("llm") {
        llm(node, &mut found.model, decoder);
    }
    if let Some(node) = fields.get("brain") {
        brain(node, found, decoder);
    }
    if let Some(node) = fields.get("limits") {
        limits(node, &mut found.limits, decoder);
    }
    if let Some(node) = fields.get("forcedReasoningInterval") {
        found.limits.forced_reasoning_interval =
            decoder.integer(node, "forcedReasoningInterval", 1, 1000);
    }
    if let Some(node) = fields.get("tools") {
        decoder.tools(node, found);
    }
    found.constraints =
        fields.get("constraints").map(|n| decoder.texts(n, "constraints")).unwrap_or_default();
    found.capabilities =
        fields.get("capabilities").map(|node| capabilities(node, decoder)).unwrap_or_default();
    if let Some(node) = fields.get("input") {
        let inner = decoder.fields(node, "`input`", &["schema"]);
        let schema = inner.and_then(|inner| inner.get("schema"));
        found.input_schema = schema.and_then(|node| Schema::decode(node, decoder));
    }
    if let Some(node) = fields.get("inputPolicy") {
        found.strict_input = decoder
            .one_of(node, "inputPolicy", &[("warn", false), ("strict", true)])
            .unwrap_or(false);
    }
    if let Some(node) = fields.get("output") {
        found.output_schema = output(node, decoder);
    }
    for key in ["mcpServers", "memory"] {
        if let Some((at, _)) = fields.entry(key) {
            decoder.comes_later(&at.text, at.span);
        }
    }
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

/// Decodes an optional text.
pub(crate) fn text(fields: &Fields<'_>, key: &str, decoder: &mut Decoder) -> Option<String> {
    fields.get(key).and_then(|node| decoder.text(node, key)).map(str::to_owned)
}

/// Decodes `display:`.
pub(crate) fn display(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    const KEYS: [&str; 5] = ["name", "description", "emoji", "avatar", "color"];
    let Some(fields) = decoder.fields(node, "`display`", &KEYS) else { return };
    if let Some(name) = text(&fields, "name", decoder) {
        found.name = name;
    }
    if let Some(description) = text(&fields, "description", decoder) {
        found.description = Some(description);
    }
    found.emoji = text(&fields, "emoji", decoder);
}

/// Decodes `context:`. `context.system` is the system prompt, or additional context next to a `role`.
fn context(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, "`context`", &["system", "rag"]) else { return };
    if let Some(system) = text(&fields, "system", decoder) {
        if found.role.is_empty() {
            found.role = system;
        } else {
            let rest = found.static_context.take().unwrap_or_default();
            found.static_context = Some(format!("{system}\n{rest}").trim_end().to_owned());
        }
    }
    if let Some((key, _)) = fields.entry("rag") {
        decoder.comes_later("context.rag", key.span);
    }
}

fn examples(node: &Node, decoder: &mut Decoder) -> Vec<Example> {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "examples", "a list of `{task, approach, outcome}`");
        return Vec::new();
    };
    items.iter().filter_map(|item| example(item, decoder)).collect()
}

fn example(node: &Node, decoder: &mut Decoder) -> Option<Example> {
    let fields = decoder.fields(node, "an example", &["task", "approach", "outcome"])?;
    let mut part = |key: &str| {
        let node = decoder.required(&fields, key, "an example")?;
        decoder.text(node, key).map(str::to_owned)
    };
    let (task, approach, outcome) = (part("task"), part("approach"), part("outcome"));
    Some(Example { task: task?, approach: approach?, outcome: outcome? })
}

fn limits(node: &Node, limits: &mut LoopLimits, decoder: &mut Decoder) {
    const KEYS: [&str; 5] =
        ["maxSteps", "maxToolCalls", "timeoutMs", "timeout", "forcedReasoningInterval"];
    let Some(fields) = decoder.fields(node, "`limits`", &KEYS) else { return };
    if let Some(steps) =
        fields.get("maxSteps").and_then(|n| decoder.integer(n, "maxSteps", 1, 10_000))
    {
        limits.max_steps = steps;
    }
    let calls =
        fields.get("maxToolCalls").and_then(|n| decoder.integer(n, "maxToolCalls", 0, 10_000));
    limits.max_tool_calls = calls.unwrap_or(limits.max_tool_calls);
    let millis = fields.get("timeoutMs").and_then(|n| decoder.integer(n, "timeoutMs", 1, u32::MAX));
    if let Some(millis) = millis {
        limits.timeout = Duration::from_millis(u64::from(millis));
    }
    if let Some(timeout) = fields.get("timeout").and_then(|node| decoder.duration(node, "timeout"))
    {
        limits.timeout = timeout;
    }
    if let Some(node) = fields.get("forcedReasoningInterval") {
        limits.forced_reasoning_interval =
            decoder.integer(node, "forcedReasoningInterval", 1, 1000);
    }
}

/// Decodes `capabilities:`: names, or maps with a `name`.
pub(crate) fn capabilities(node: &Node, decoder: &mut Decoder) -> Vec<String> {
    const KEYS: [&str; 7] = [
        "name",
        "version",
        "description",
        "inputSchema",
        "outputSchema",
        "toolsRequired",
        "promptTemplate",
    ];
    let mut found = Vec::new();
    for item in decoder.list(node, "capabilities") {
        if item.as_map().is_none() {
            found.extend(decoder.text(item, "capabilities").map(str::to_owned));
            continue;
        }
        let Some(fields) = decoder.fields(item, "a capability", &KEYS) else { continue };
        let name = decoder.required(&fields, "name", "a capability");
        found.extend(name.and_then(|node| decoder.text(node, "name")).map(str::to_owned));
    }
    found
}

fn output(node: &Node, decoder: &mut Decoder) -> Option<Schema> {
    let fields = decoder.fields(node, "`output`", &["format", "schema"])?;
    if let Some(node) = fields.get("format") {
        decoder.one_of(node, "format", &[("structured", ()), ("json", ()), ("text", ())]);
    }
    fields.get("schema").and_then(|node| Schema::decode(node, decoder))
}
