//! Sentences about tables and keys that follow from their rules, for the schemas and the reference.

use super::table::{KeyRule, KeySpec, KeyTable};
use crate::definition::kind;

/// What a table is, with the keys of which it has exactly or at least one.
pub(super) fn table_text(table: &KeyTable) -> String {
    let (amount, names) = match table.rule {
        KeyRule::Any => return table.about.to_owned(),
        KeyRule::ExactlyOne(names) | KeyRule::OneOrInherited(names) => ("exactly one", names),
        KeyRule::AtLeastOne(names) => ("at least one", names),
    };
    format!("{} It has {amount} of {}.", table.about, listed(names))
}

/// What a key of a table is, with the step kinds that cannot have it.
pub(super) fn key_text(table: &KeyTable, key: &KeySpec) -> String {
    let excludes =
        |kind: &kind::Kind| kind.rules.excluded.iter().any(|(name, _)| *name == key.name);
    let kinds: Vec<&str> = match table.rule {
        // Only a step has kinds that it can inherit.
        KeyRule::OneOrInherited(_) => kind::kinds().filter(excludes).map(|kind| kind.key).collect(),
        KeyRule::Any | KeyRule::ExactlyOne(_) | KeyRule::AtLeastOne(_) => Vec::new(),
    };
    match kinds.as_slice() {
        [] => key.about.to_owned(),
        kinds => format!("{} Not with {}.", key.about, listed(kinds)),
    }
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
