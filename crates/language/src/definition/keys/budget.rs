//! Keys of `budget`.

use super::table::KeyType::Number;
use super::table::{KeySpec, KeyTable, key, table};

pub(crate) static BUDGET: KeyTable =
    table("budget", "`budget`", "Limits of cost, tokens and tool calls.", &[BUDGET_KEYS]);

const BUDGET_KEYS: &[KeySpec] = &[
    key("maxCostUsd", Number(0.0, f64::INFINITY), "Maximum cost in US dollars.").example("1.5"),
    key("warnCostUsd", Number(0.0, f64::INFINITY), "Cost in US dollars from which a run warns."),
    key("maxTokens", Number(0.0, f64::INFINITY), "Maximum number of tokens."),
    key("maxToolCalls", Number(0.0, f64::INFINITY), "Maximum number of tool calls."),
];
