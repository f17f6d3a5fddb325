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

impl KeyTable {
    /// Whether a key may stand in a map that has these keys already: of the keys that exclude each other only one, and no
    /// key of another one.
    pub fn takes_beside(&self, key: &KeySpec, present: &[String]) -> bool {
        let (KeyRule::ExactlyOne(names) | KeyRule::OneOrInherited(names)) = self.rule else {
            return true;
        };
        let Some(chosen) = names.iter().find(|name| present.iter().any(|own| own == *name)) else {
            return true;
        };
        let excluded = || {
            kind::kinds()
                .filter(|kind| kind.key == *chosen)
                .any(|kind| kind.rules.excluded.iter().any(|(name, _)| *name == key.name))
        };
        let is_of_step = matches!(self.rule, KeyRule::OneOrInherited(_));
        !names.contains(&key.name)
            && (key.only.is_empty() || key.only.contains(chosen))
            && !(is_of_step && excluded())
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
