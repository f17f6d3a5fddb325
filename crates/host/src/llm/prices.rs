//! Prices of models.

use kb_base::value::{Money, Usage};
use kb_language::definition::ModelPrice;
use std::collections::BTreeMap;

/// List prices in US dollars per million tokens: model, prompt, completion, cached prompt. Standard
/// processing, without surcharges for long contexts. Checked in October 2026;
/// `llm.prices` in the settings takes precedence.
const TABLE: &[(&str, f64, f64, f64)] = &[
    ("claude-fable-5-1", 10.0, 50.0, 0.25),
    ("claude-fable-5", 10.0, 50.0, 1.0),
    ("claude-opus-5-5", 4.0, 20.0, 0.2),
    ("claude-opus-5", 5.0, 25.0, 0.5),
    ("claude-opus-4-8", 5.0, 25.0, 0.5),
    ("claude-opus-4-7", 5.0, 25.0, 0.5),
    ("claude-opus-4-6", 5.0, 25.0, 0.5),
    ("claude-opus-4-5", 5.0, 25.0, 0.5),
    ("claude-opus-4-1", 15.0, 75.0, 1.5),
    ("claude-opus-4", 15.0, 75.0, 1.5),
    ("claude-sonnet-5-5", 2.0, 10.0, 0.1),
    ("claude-sonnet-5", 2.0, 10.0, 0.2),
    ("claude-sonnet-4-6", 3.0, 15.0, 0.3),
    ("claude-sonnet-4-5", 3.0, 15.0, 0.3),
    ("claude-sonnet-4", 3.0, 15.0, 0.3),
    ("claude-haiku-5-5", 0.1, 0.5, 0.01),
    ("claude-haiku-4-5", 1.0, 5.0, 0.1),
    ("claude-3-5-haiku", 0.8, 4.0, 0.08),
    ("gpt-6-astra", 10.0, 50.0, 1.0),
    ("gpt-6.1-sol", 2.0, 10.0, 0.1),
    ("gpt-6-sol", 2.0, 10.0, 0.2),
    ("gpt-6-luna", 0.1, 0.5, 0.01),
    ("gpt-5.6-sol", 4.0, 20.0, 0.4),
    ("gpt-5.6-terra", 2.0, 12.0, 0.2),
    ("gpt-5.6-luna", 0.2, 1.2, 0.02),
    ("gpt-5.5", 5.0, 30.0, 0.5),
    ("gpt-5.4", 2.5, 15.0, 0.25),
    ("gpt-5.4-mini", 0.75, 4.5, 0.075),
    ("gpt-5.4-nano", 0.2, 1.25, 0.02),
    ("gpt-5.2", 1.75, 14.0, 0.175),
    ("gpt-5.1", 1.25, 10.0, 0.125),
    ("gpt-5", 1.25, 10.0, 0.125),
    ("gpt-5-mini", 0.25, 2.0, 0.025),
    ("gpt-5-nano", 0.05, 0.4, 0.005),
    ("gpt-4.1", 2.0, 8.0, 0.5),
    ("gpt-4.1-mini", 0.4, 1.6, 0.1),
    ("gpt-4.1-nano", 0.1, 0.4, 0.025),
    ("gpt-4o", 2.5, 10.0, 1.25),
    ("gpt-4o-mini", 0.15, 0.6, 0.075),
    ("o3", 2.0, 8.0, 0.5),
    ("o3-mini", 1.1, 4.4, 0.55),
    ("o4-mini", 1.1, 4.4, 0.275),
    ("gemini-3.1-pro-preview", 2.0, 12.0, 0.2),
    ("gemini-3.5-flash-lite", 0.3, 2.5, 0.03),
    ("gemini-2.5-pro", 1.25, 10.0, 0.125),
    ("gemini-2.5-flash", 0.3, 2.5, 0.03),
    ("gemini-2.5-flash-lite", 0.1, 0.4, 0.01),
];

/// The price of a local model.
pub(super) const FREE: ModelPrice =
    ModelPrice { input: 0.0, output: 0.0, cached_input: Some(0.0), cache_write: None };

/// Prices by model name: the prices of the settings, then the built-in table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    own: BTreeMap<String, ModelPrice>,
}

impl Prices {
    /// Prices with those of the settings taking precedence.
    pub fn new(own: BTreeMap<String, ModelPrice>) -> Self {
        Prices { own }
    }

    /// The price of a model. A provider prefix and a date suffix are ignored, as in
    /// `anthropic/claude-haiku-4-5-20251001`. An unknown model has no price, not that of a similar one.
    pub fn of(&self, model: &str) -> Option<ModelPrice> {
        let name = plain_name(model);
        self.set(model).or_else(|| listed(&name)).or_else(|| listed(without_date(&name)))
    }

    /// The price of a model at an endpoint of this machine or not: that of the settings, else free on this
    /// machine, else that of the table. A gateway on this machine may bill what it passes on.
    pub(super) fn at(&self, model: &str, is_local: bool) -> Option<ModelPrice> {
        if is_local { self.set(model).or(Some(FREE)) } else { self.of(model) }
    }

    /// The price that the settings set for a model.
    fn set(&self, model: &str) -> Option<ModelPrice> {
        let name = plain_name(model);
        let names = [model, name.as_str(), without_date(&name)];
        names.into_iter().find_map(|name| self.own.get(name)).copied()
    }
}

/// The cost of a call at that price.
pub fn cost(price: &ModelPrice, usage: &Usage) -> Money {
    let cached = usage.cached_tokens.min(usage.prompt_tokens);
    let written = usage.cache_write_tokens.min(usage.prompt_tokens - cached);
    let dollars = (usage.prompt_tokens - cached - written) as f64 * price.input
        + cached as f64 * price.cached_input.unwrap_or(price.input)
        + written as f64 * price.cache_write.unwrap_or(price.input)
        + usage.completion_tokens as f64 * price.output;
    Money::from_usd(dollars / 1e6)
}

/// Price of writing prompt tokens to the cache, as a multiple of the price of prompt tokens.
const CACHE_WRITE: f64 = 1.25;

/// Whether the provider bills the tokens that it writes to its cache at a price of their own:
/// Anthropic, and OpenAI from GPT-5.6 on.
fn bills_cache_writes(name: &str) -> bool {
    ["claude-", "gpt-5.6", "gpt-6"].iter().any(|start| name.starts_with(start))
}

fn listed(name: &str) -> Option<ModelPrice> {
    TABLE.iter().find(|row| row.0 == name).map(|&(_, input, output, cached)| ModelPrice {
        input,
        output,
        cached_input: Some(cached),
        cache_write: bills_cache_writes(name).then_some(input * CACHE_WRITE),
    })
}

/// The name in lower case without the prefix of a provider, as in `anthropic/`.
pub(super) fn plain_name(model: &str) -> String {
    model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase()
}

/// The name without the suffix of `claude-haiku-4-5-20251001`, `claude-haiku-4-5@20251001`,
/// `gpt-4o-2024-08-06` or `…-latest`.
fn without_date(name: &str) -> &str {
    let name = name.strip_suffix("-latest").unwrap_or(name);
    let digits = |text: &str, shape: &str| {
        text.len() == shape.len()
            && text.chars().zip(shape.chars()).all(|(c, s)| match s {
                '0' => c.is_ascii_digit(),
                sign => c == sign,
            })
    };
    ["-00000000", "@00000000", "-0000-00-00"]
        .into_iter()
        .find_map(|shape| {
            let cut =
                name.len().checked_sub(shape.len()).filter(|&at| name.is_char_boundary(at))?;
            digits(&name[cut..], shape).then(|| &name[..cut])
        })
        .unwrap_or(name)
}
