//! Decodes the model of a specialist: `llm:` and `brain:`.

use super::{Decoder, Node};
use crate::definition::keys::KeyType::{Integer, ListOrOne, Map, Number, OneOf, Text};
use crate::definition::keys::{Named, choice, keys};
use crate::definition::model::{ModelChoice, Reasoning, Specialist};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Tier;

keys! {
    /// The model of a specialist.
    pub(super) struct LlmKeys(): LLM = ("llm", "`llm`") {
        /// Model tier.
        tier: Option<Tier> = "tier", default("medium");
        /// Tiers to escalate through, in ascending order.
        ladder: Vec<Tier> = "ladder" as ListOrOne(const { &choice::<Tier>() }) => ladder,
            default("`defaultLadder` of the settings"), example("[small, medium]");
    } with {
        /// How the model responds.
        generation: Generation,
    }

    /// Model and system prompt of a specialist.
    pub(super) struct BrainKeys(): BRAIN = ("brain", "`brain`") {
        /// System prompt.
        role: Option<String> = "systemPrompt", example("You review Rust code.");
    } with {
        /// How the model responds.
        generation: Generation,
    }

    /// What `llm` and `brain` share.
    pub(super) struct Generation() {
        /// Model by name; takes precedence over the tier.
        model: Option<String> = "model", example("gpt-4o");
        /// Sampling temperature.
        temperature: Option<f64> = "temperature" as Number(0.0, 2.0), default("that of the provider");
        /// Maximum tokens of one response, without its reasoning.
        max_tokens: Option<u32> = "maxTokens" as Integer(1, u32::MAX), default("the limit of the model, at most 16,384");
        /// How long the model reasons before it responds.
        reasoning: Option<Reasoning> = "reasoning", default("`llm.reasoning` of the settings"), example("medium");
        /// Model to use if the first one is not available.
        fallback: Option<String> = "fallback" as OneOf(const { &[Text, Map(&FALLBACK)] }) => fallback, example("gpt-4o-mini");
        /// Provider that has to serve the model. A call is refused if another one does. Providers are configured in the settings under `llm.tiers`, or by API keys.
        provider: Option<String> = "provider", example("ollama"), names(Named::Provider);
    }

    /// The fallback model.
    struct FallbackKeys(): FALLBACK = ("fallback", "`fallback`") {
        /// Whether the fallback is used.
        enabled: bool = "enabled", default("true");
        /// Name of the model.
        model: Option<String> = "model", example("gpt-4o-mini");
    }
}

impl LlmKeys {
    /// Applies `llm:`.
    pub(super) fn set(self, found: &mut ModelChoice) {
        found.tier = self.tier.unwrap_or(found.tier);
        found.ladder = self.ladder;
        self.generation.set(found);
    }
}

impl BrainKeys {
    /// Applies `brain:`.
    pub(super) fn set(self, found: &mut Specialist) {
        self.generation.set(&mut found.model);
        found.role = self.role.unwrap_or(std::mem::take(&mut found.role));
    }
}

impl Generation {
    fn set(self, found: &mut ModelChoice) {
        found.model = self.model;
        found.temperature = self.temperature;
        found.max_tokens = self.max_tokens;
        found.reasoning = self.reasoning;
        found.fallback = self.fallback;
        found.provider = self.provider;
    }
}

/// Decodes a model name, or `{enabled, model}`.
fn fallback(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    if node.as_map().is_none() {
        return decoder.text(node, key).map(str::to_owned);
    }
    let own = FallbackKeys::from_node(node, decoder)?;
    own.model.filter(|_| own.enabled)
}

fn ladder(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<Tier> {
    decoder.ladder(node, key)
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
