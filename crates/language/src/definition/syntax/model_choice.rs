//! Decodes the model of a specialist: `llm:` and `brain:`.

use super::{Decoder, Fields, Node};
use crate::definition::keys;
use crate::definition::model::Specialist;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Tier;

/// Decodes `llm:` of a specialist: tier, model and temperature.
pub(crate) fn llm(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &keys::specialist::LLM) else { return };
    found.model.tier = fields.choice("tier", decoder).unwrap_or(found.model.tier);
    if let Some(node) = fields.get("ladder") {
        found.model.ladder = decoder.ladder(node, "ladder");
    }
    generation(&fields, found, decoder);
}

/// Decodes the keys that `llm` and `brain` share.
fn generation(fields: &Fields<'_>, found: &mut Specialist, decoder: &mut Decoder) {
    found.model.model = fields.text("model", decoder);
    found.model.temperature = fields.number("temperature", decoder);
    found.model.max_tokens = fields.integer("maxTokens", decoder);
    found.model.reasoning = fields.choice("reasoning", decoder);
    found.model.fallback = fields.get("fallback").and_then(|node| fallback(node, decoder));
    found.model.provider = fields.text("provider", decoder);
    decoder.unsupported(fields);
}

/// Decodes a model name, or `{enabled, model}`.
fn fallback(node: &Node, decoder: &mut Decoder) -> Option<String> {
    if node.as_map().is_none() {
        return decoder.text(node, "fallback").map(str::to_owned);
    }
    let fields = decoder.fields(node, &keys::specialist::FALLBACK)?;
    let enabled = fields.boolean("enabled", decoder);
    let model = fields.text("model", decoder);
    model.filter(|_| enabled != Some(false))
}

/// Decodes `brain:` of the `agent:` form.
pub(crate) fn brain(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &keys::specialist::BRAIN) else { return };
    generation(&fields, found, decoder);
    if let Some(prompt) = fields.text("systemPrompt", decoder) {
        found.role = prompt;
    }
}

impl Decoder {
    /// Decodes a list of tiers in ascending order.
    pub(crate) fn ladder(&mut self, node: &Node, key: &str) -> Vec<Tier> {
        let items = self.list(node, key);
        let tiers: Vec<Tier> = items.iter().filter_map(|item| self.choice(item, key)).collect();
        if !tiers.is_sorted_by(|a, b| a < b) {
            self.push(
                Diagnostic::error(
                    Code::BAD_SETTING,
                    node.span,
                    "the tiers of a ladder must be in ascending order",
                )
                .help("write `[small, medium, large]` or a part of it"),
            );
        }
        tiers
    }
}
