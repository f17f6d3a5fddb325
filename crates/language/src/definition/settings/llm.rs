//! `llm`: models and prices.

use crate::definition::keys::KeyType::{self, Integer, Map, MapOf, Number, Pattern};
use crate::definition::keys::{Named, keys, settings};
use crate::definition::model::{ContextProfile, Reasoning};
use crate::definition::notify::is_url;
use crate::definition::syntax::environment::is_variable;
use crate::definition::syntax::{Decoder, Key, Node, Unread};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Tier;
use std::collections::BTreeMap;

settings! {
    /// Models and prices.
    pub struct LlmSettings(Debug, Clone, PartialEq): LLM = ("llmSettings", "`llm`") {
        /// The model of each tier.
        [own] tiers: BTreeMap<Tier, TierSettings> = "tiers" as Map(&TIERS) => tiers,
            default("from API keys in the environment, or a local server"),
            example("{small: {provider: ollama, model: qwen3}}");
        /// Prices by model name; they take precedence over the built-in prices.
        [own] prices: BTreeMap<String, ModelPrice> = "prices" as MapOf(const { &Map(&PRICE) }) => prices,
            example("{qwen3: {input: 0, output: 0}}");
        /// Maximum tokens of the values in one prompt (`input` and the placeholders of `task`); above it, the largest values are passed as previews.
        [own] max_input_tokens: u32 = "maxInputTokens" as Integer(100, 10_000_000), default("4000");
        /// How much of a conversation models see: lengths of tool results, and when older messages become a summary.
        [own] context: Option<ContextProfile> = "context",
            default("by the context window of the model"), example("standard");
        /// How long models reason before they respond.
        [own] reasoning: Option<Reasoning> = "reasoning",
            default("the default of the model"), example("medium");
    }
}

const DOLLARS: KeyType = Number(0.0, f64::INFINITY);

keys! {
    /// The model of each tier.
    struct TierKeys(): TIERS = ("tiers", "`tiers`") {
        /// The small model.
        _small: Unread = "small" as Map(&TIER);
        /// The medium model.
        _medium: Unread = "medium" as Map(&TIER);
        /// The large model.
        _large: Unread = "large" as Map(&TIER);
    }

    /// The model of one tier.
    pub struct TierSettings(Debug, Clone, PartialEq, Default): TIER = ("tier", "a tier") {
        /// `anthropic`, `openai`, `gemini`, `ollama`, `openai-compatible`, …; optional with an `endpoint`.
        provider: Option<String> = "provider", example("anthropic"), names(Named::Provider);
        /// Name of the model, as the provider spells it.
        model: String = "model", required, example("qwen3");
        /// Base URL.
        endpoint: Option<String> = "endpoint" as Pattern("^https?://") => endpoint,
            example("http://127.0.0.1:11434/v1");
        /// Environment variable that contains the API key.
        api_key_env: Option<String> = "apiKeyEnv" as Pattern("^[A-Za-z_][A-Za-z0-9_]*$") => api_key_env,
            example("OPENAI_API_KEY");
        /// Price of the model.
        price: Option<ModelPrice> = "price", example("{input: 3, output: 15}");
        /// Tokens that a prompt and its response may have together.
        context_window: Option<u32> = "contextWindow" as Integer(1_000, 100_000_000),
            default("that of the model, if known"), example("131072");
        /// Maximum tokens of one response, as the provider allows.
        max_output: Option<u32> = "maxOutputTokens" as Integer(1, 100_000_000),
            default("that of the model, if known"), example("32768");
        /// Whether responses are streamed; `false` is for servers that cannot.
        stream: Option<bool> = "stream", default("true");
    }

    /// A price in US dollars per million tokens.
    pub struct ModelPrice(Debug, Clone, Copy, PartialEq, Default): PRICE = ("price", "a price") {
        /// Prompt tokens.
        input: f64 = "input" as DOLLARS, required, example("3");
        /// Completion tokens.
        output: f64 = "output" as DOLLARS, required, example("15");
        /// Prompt tokens read from the provider's cache.
        cached_input: Option<f64> = "cachedInput" as DOLLARS, default("`input`");
        /// Prompt tokens written to the provider's cache.
        cache_write: Option<f64> = "cacheWrite" as DOLLARS, default("`input`");
    }
}

fn tiers(node: &Node, _: &str, decoder: &mut Decoder) -> BTreeMap<Tier, TierSettings> {
    let Some(fields) = decoder.fields(node, &TIERS) else { return BTreeMap::new() };
    let found = fields.iter().filter_map(|(key, _, node)| {
        let what = format!("the tier `{}`", key.name);
        let own = TierSettings::of(&decoder.fields_of(node, &what, &TIER)?, decoder)?;
        Some((Tier::parse(key.name)?, own))
    });
    found.collect()
}

fn prices(node: &Node, _: &str, decoder: &mut Decoder) -> BTreeMap<String, ModelPrice> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "prices", "a map from models to `{input, output}`");
        return BTreeMap::new();
    };
    let price = |(key, node): &(Key, Node)| {
        Some((key.text.to_string(), ModelPrice::from_node(node, decoder)?))
    };
    entries.iter().filter_map(price).collect()
}

pub(super) fn api_key_env(node: &Node, _: &str, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, "apiKeyEnv")?;
    if !is_variable(text) {
        let message = "`apiKeyEnv` is not the name of an environment variable";
        let help = "write a variable name such as `OPENAI_API_KEY`, never the key itself";
        decoder.push(Diagnostic::error(Code::BAD_SETTING, node.span, message).help(help));
        return None;
    }
    Some(text.to_owned())
}

pub(super) fn endpoint(node: &Node, _: &str, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, "endpoint")?;
    if !is_url(text) {
        let help = "write the whole URL, such as `http://127.0.0.1:11434/v1`".to_owned();
        decoder.bad_value(node.span, format!("`{text}` is not a URL"), help);
        return None;
    }
    Some(text.to_owned())
}
