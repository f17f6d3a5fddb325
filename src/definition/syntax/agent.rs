//! Decodes specialists in the `agent:` form.

use super::model_choice::brain;
use super::specialist::{capabilities, display, finish_role, text};
use super::{Decoder, Fields, Node};
use crate::definition::model::Specialist;
use crate::value::Digest;
use std::time::Duration;

const KEYS: [&str; 11] = [
    "name",
    "type",
    "version",
    "display",
    "brain",
    "tools",
    "memory",
    "capabilities",
    "agentLoop",
    "limits",
    "registry",
];

/// Decodes the form in which everything is below one key `agent`.
pub(crate) fn agent(
    root: &Node,
    path: &str,
    digest: Digest,
    decoder: &mut Decoder,
) -> Option<Specialist> {
    let outer = decoder.fields(root, "the file", &["schema", "agent"])?;
    let inner = decoder.required(&outer, "agent", "the file")?;
    let fields = decoder.fields(inner, "an agent", &KEYS)?;
    let name = decoder.required(&fields, "name", "an agent");
    let id = name.and_then(|node| Some((decoder.specialist_id(node)?, node.span)));
    let (id, span) = match id {
        Some(id) => id,
        // The rest is still decoded, so that all of its problems are reported.
        None => (crate::value::SpecialistId::new("unnamed").ok()?, fields.span),
    };
    let mut found = Specialist::bare(id, span, path, digest);
    found.version =
        fields.get("version").and_then(|n| decoder.scalar(n, "version")).map(str::to_owned);
    text(&fields, "type", decoder);
    if let Some(node) = fields.get("display") {
        display(node, &mut found, decoder);
    }
    if let Some(node) = fields.get("brain") {
        brain(node, &mut found, decoder);
    }
    if let Some(node) = fields.get("tools") {
        tools(node, &mut found, decoder);
    }
    found.capabilities =
        fields.get("capabilities").map(|node| capabilities(node, decoder)).unwrap_or_default();
    bounds(&fields, &mut found, decoder);
    for key in ["memory", "registry"] {
        if let Some((at, _)) = fields.entry(key) {
            decoder.comes_later(key, at.span);
        }
    }
    name?;
    finish_role(&mut found);
    Some(found)
}

/// `tools: {enabled, security}`.
fn tools(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    if node.as_map().is_none() {
        decoder.tools(node, found);
        return;
    }
    let Some(fields) = decoder.fields(node, "`tools`", &["enabled", "security"]) else { return };
    if let Some(node) = fields.get("enabled") {
        decoder.tools(node, found);
    }
    if let Some((key, _)) = fields.entry("security") {
        decoder.comes_later("tools.security", key.span);
    }
}

fn bounds(fields: &Fields<'_>, found: &mut Specialist, decoder: &mut Decoder) {
    const LOOP: [&str; 3] = ["maxIterations", "maxToolCalls", "enableSelfCritique"];
    const LIMITS: [&str; 2] = ["maxExecutionTimeSeconds", "maxRetries"];
    let inner = fields.get("agentLoop").and_then(|n| decoder.fields(n, "`agent_loop`", &LOOP));
    if let Some(inner) = inner {
        let mut bound =
            |key: &str| inner.get(key).and_then(|node| decoder.integer(node, key, 1, 10_000));
        let (steps, calls) = (bound("maxIterations"), bound("maxToolCalls"));
        found.limits.max_steps = steps.unwrap_or(found.limits.max_steps);
        found.limits.max_tool_calls = calls.unwrap_or(found.limits.max_tool_calls);
        if let Some((key, _)) = inner.entry("enableSelfCritique") {
            decoder.comes_later(&key.text, key.span);
        }
    }
    let inner = fields.get("limits").and_then(|n| decoder.fields(n, "`limits`", &LIMITS));
    if let Some(inner) = inner {
        if let Some(node) = inner.get("maxExecutionTimeSeconds") {
            let seconds = decoder.integer(node, "maxExecutionTimeSeconds", 1, 1_000_000);
            found.limits.timeout =
                seconds.map_or(found.limits.timeout, |seconds| Duration::from_secs(seconds.into()));
        }
        if let Some((key, _)) = inner.entry("maxRetries") {
            decoder.comes_later(&key.text, key.span);
        }
    }
}
