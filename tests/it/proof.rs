//! How much the tests with many cases do, and what the long ones have seen.
//!
//! `cargo test` runs a quick form of each. `scripts/prove` sets `KB_PROVE=full` and `KB_PROVE_TO`,
//! a file that gets one line of JSON for each figure, from which it makes its table.

use serde_json::{Map, Value, json};
use std::io::Write;

/// How many cases a test goes through: `quick`, or `full` under `KB_PROVE=full`, or what the
/// variable `name` says (`KB_SIMULATE=20000`).
pub(crate) fn amount(name: &str, quick: usize, full: usize) -> usize {
    let set = std::env::var(name).ok().map(|text| {
        text.parse().unwrap_or_else(|_| panic!("`{name}` is a number of cases, not `{text}`"))
    });
    set.unwrap_or(if is_full() { full } else { quick })
}

/// Whether the whole set was asked for.
pub(crate) fn is_full() -> bool {
    std::env::var("KB_PROVE").is_ok_and(|form| form == "full")
}

/// Keeps what was seen, after the assertions have held. `subject` is the row's name in the table,
/// a figure is a name (with its unit, where it has one) and a number or a text.
pub(crate) fn record<V: Into<Value>>(
    subject: &str,
    seed: Option<u64>,
    figures: impl IntoIterator<Item = (&'static str, V)>,
) {
    let figures: Map<String, Value> =
        figures.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let line = json!({"subject": subject, "seed": seed, "figures": figures});
    println!("{line}");
    let Ok(path) = std::env::var("KB_PROVE_TO") else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
        .unwrap_or_else(|error| panic!("`{path}` takes no figures: {error}"));
}
