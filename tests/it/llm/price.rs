//! Prices: the settings, the table, and never a guess.

use kb::definition::ModelPrice;
use kb::llm::{Prices, cost};
use kb::value::{Money, Usage};
use std::collections::BTreeMap;

fn usage(prompt: u64, cached: u64, completion: u64) -> Usage {
    Usage {
        prompt_tokens: prompt,
        cached_tokens: cached,
        completion_tokens: completion,
        ..Usage::default()
    }
}

#[test]
fn a_known_model_costs_what_the_table_says_and_an_unknown_one_is_unknown() {
    let own = ModelPrice { input: 1.0, output: 2.0, cached_input: None, cache_write: None };
    let prices = Prices::new(BTreeMap::from([("house-model".to_owned(), own)]));
    let million = usage(1_000_000, 0, 1_000_000);
    let check = |model: &str, expected: Option<f64>| {
        let found = prices.of(model).map(|price| cost(&price, &million));
        assert_eq!(found, expected.map(Money::from_usd), "{model}");
    };
    check("claude-sonnet-4-5", Some(18.0));
    check("claude-sonnet-4-5-20250929", Some(18.0));
    check("anthropic/claude-sonnet-4-5@20250929", Some(18.0));
    check("gpt-4o-2024-08-06", Some(12.5));
    check("GPT-4o", Some(12.5));
    check("house-model", Some(3.0));
    check("house-model-latest", Some(3.0));
    check("gpt-4o-audio-preview", None);
    check("claude-sonnet-4-5-fast", None);
    check("", None);
    check("модель-0000-00-00", None);
}

#[test]
fn cached_tokens_have_their_own_price_and_never_exceed_the_prompt() {
    let price = ModelPrice { input: 2.0, output: 0.0, cached_input: Some(0.5), cache_write: None };
    let cost = |u: Usage| kb::llm::cost(&price, &u).usd();
    assert_eq!(cost(usage(1_000_000, 400_000, 0)), 1.4);
    assert_eq!(cost(usage(1_000_000, 9_000_000, 0)), 0.5);
    let plain = ModelPrice { cached_input: None, ..price };
    assert_eq!(kb::llm::cost(&plain, &usage(1_000_000, 400_000, 0)).usd(), 2.0);
}
