//! Decodes the model of a specialist: `llm:` and `brain:`.

use super::specialist::text;
use super::{Decoder, Fields, Node};
use crate::definition::model::{ModelChoice, Specialist};
use crate::diagnostic::{Code, Diagnostic};
use crate::value::Tier;

/// Decodes `llm:`.
pub(crate) fn llm(node: &Node, model: &mut ModelChoice, decoder: &mut Decoder) {
    const KEYS: [&str; 7] =
        ["tier", "model", "temperature", "maxTokens", "ladder", "fallback", "provider"];
    let Some(fields) = decoder.fields(node, "`llm`", &KEYS) else { return };
    if let Some(tier) = fields.get("tier").and_then(|node| decoder.tier(node, "tier")) {
        model.tier = tier;
    }
    if let Some((key, node)) = fields.entry("ladder") {
        decoder.not_yet("llm.ladder", key.span, None);
        model.ladder = decoder.ladder(node, "ladder");
    }
    generation(&fields, model, decoder);
}

/// Decodes the keys that `llm` and `brain` share.
fn generation(fields: &Fields<'_>, model: &mut ModelChoice, decoder: &mut Decoder) {
    model.model = text(fields, "model", decoder);
    model.temperature =
        fields.get("temperature").and_then(|node| decoder.number(node, "temperature", 0.0, 2.0));
    model.max_tokens =
        fields.get("maxTokens").and_then(|node| decoder.integer(node, "maxTokens", 1, u32::MAX));
    model.fallback = fields.get("fallback").and_then(|node| fallback(node, decoder));
    if let Some((key, node)) = fields.entry("provider") {
        decoder.text(node, "provider");
        decoder.push(
            Diagnostic::warning(Code::PLANNED, key.span, "`provider` of a specialist is not supported yet")
                .help("the model name selects the provider; providers are configured in the settings under `llm.tiers`"),
        );
    }
}

/// Decodes a model name, or `{enabled, model}`.
fn fallback(node: &Node, decoder: &mut Decoder) -> Option<String> {
    if node.as_map().is_none() {
        return decoder.text(node, "fallback").map(str::to_owned);
    }
    let fields = decoder.fields(node, "`fallback`", &["enabled", "model"])?;
    let enabled = fields.get("enabled").and_then(|node| decoder.boolean(node, "enabled"));
    let model = text(&fields, "model", decoder);
    model.filter(|_| enabled != Some(false))
}

/// Decodes `brain:` of the `agent:` form.
pub(crate) fn brain(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    const KEYS: [&str; 6] =
        ["provider", "model", "temperature", "maxTokens", "systemPrompt", "fallback"];
    let Some(fields) = decoder.fields(node, "`brain`", &KEYS) else { return };
    generation(&fields, &mut found.model, decoder);
    if let Some(prompt) = text(&fields, "systemPrompt", decoder) {
        found.role = prompt;
    }
}

impl Decoder {
    /// Decodes `small`, `medium` or `large`.
    pub(crate) fn tier(&mut self, node: &Node, key: &str) -> Option<Tier> {
        self.one_of(node, key, &Tier::ALL.map(|tier| (tier.as_str(), tier)))
    }

    /// Decodes a list of tiers in ascending order.
    pub(crate) fn ladder(&mut self, node: &Node, key: &str) -> Vec<Tier> {
        let items = self.list(node, key);
        let tiers: Vec<Tier> = items.iter().filter_map(|item| self.tier(item, key)).collect();
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
