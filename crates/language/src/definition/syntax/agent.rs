//! Decodes specialists in the `agent:` form.

use super::memory::memory_use;
use super::model_choice::brain;
use super::specialist::{agent_loop, capabilities, display, finish_role};
use super::tool_security::{agent_tool_security, specialist_security};
use super::{Decoder, Fields, Node};
use crate::definition::keys;
use crate::definition::model::Specialist;
use crate::definition::settings::GlobalLimits;
use kb_base::value::Digest;
use std::time::Duration;

/// Decodes the form in which everything is below one key `agent`.
pub(crate) fn agent(
    root: &Node,
    path: &str,
    digest: Digest,
    decoder: &mut Decoder,
) -> Option<Specialist> {
    let outer = decoder.fields(root, &keys::specialist::AGENT_FILE)?;
    let inner = decoder.required(&outer, "agent")?;
    let fields = decoder.fields(inner, &keys::specialist::AGENT)?;
    let name = decoder.required(&fields, "name");
    let id = name.and_then(|node| Some((decoder.specialist_id(node)?, node.span)));
    let (id, span) = match id {
        Some(id) => id,
        // The rest is still decoded, so that all of its problems are reported.
        None => (kb_base::value::SpecialistId::new("unnamed").ok()?, fields.span),
    };
    let mut found = Specialist::bare(id, span, path, digest);
    found.version =
        fields.get("version").and_then(|n| decoder.scalar(n, "version")).map(str::to_owned);
    fields.text("type", decoder);
    if let Some(node) = fields.get("display") {
        display(node, &mut found, decoder);
    }
    if let Some(node) = fields.get("brain") {
        brain(node, &mut found, decoder);
    }
    if let Some(node) = fields.get("tools") {
        tools(node, &mut found, decoder);
    }
    if let Some(node) = fields.get("memory") {
        memory_use(node, &mut found, decoder);
    }
    if let Some(node) = fields.get("security") {
        specialist_security(node, &mut found, decoder);
    }
    let limits = fields.get("globalLimits").and_then(|node| GlobalLimits::from_node(node, decoder));
    if let Some(limits) = limits {
        found.global = found.global.narrowed_by(&limits);
    }
    found.network = fields.choice("network", decoder).unwrap_or_default();
    if let Some(node) = fields.get("capabilities") {
        capabilities(node, &mut found, decoder);
    }
    found.context = fields.choice("context", decoder);
    bounds(&fields, &mut found, decoder);
    found.singleton = decoder.singleton(&fields);
    decoder.unsupported(&fields);
    found.not_yet.append(&mut decoder.refused);
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
    let Some(fields) = decoder.fields(node, &keys::specialist::AGENT_TOOLS) else { return };
    if let Some(node) = fields.get("enabled") {
        decoder.tools(node, found);
    }
    if let Some(node) = fields.get("security") {
        agent_tool_security(node, found, decoder);
    }
    decoder.unsupported(&fields);
}

fn bounds(fields: &Fields<'_>, found: &mut Specialist, decoder: &mut Decoder) {
    if let Some(node) = fields.get("agentLoop") {
        agent_loop(node, &mut found.limits, false, decoder);
    }
    let node = fields.get("limits");
    if let Some(inner) = node.and_then(|n| decoder.fields(n, &keys::specialist::AGENT_LIMITS)) {
        if let Some(seconds) = inner.integer("maxExecutionTimeSeconds", decoder) {
            found.limits.timeout = Duration::from_secs(seconds.into());
        }
        found.limits.max_retries = inner.integer("maxRetries", decoder);
        decoder.unsupported(&inner);
    }
}
