//! Derives the reference pages of `docs/reference/generated` from the tables of keys.

use super::describe::{key_text, table_text};
use super::reach::reach;
use super::table::{KeySpec, KeyTable, KeyType, Support};
use crate::definition::model::gate::VERIFY;
use crate::definition::script::SCRIPT;
use crate::definition::settings::SETTINGS;
use crate::definition::syntax::agent::AGENT;
use crate::definition::syntax::playbook::{PLAYBOOK, WORKFLOW};
use crate::definition::syntax::plugin::{PLUGIN, PLUGIN_MANIFEST};
use crate::definition::syntax::profile::PROFILE;
use crate::definition::syntax::specialist::SPECIALIST;
use crate::definition::syntax::step_keys::STEP;
use crate::definition::test_file::TEST_FILE;
use std::collections::{BTreeMap, BTreeSet};

/// The pages, in order, each with the tables that it starts with. A table is on the first page whose
/// tables reach it.
const PAGES: &[(&str, &str, &[&KeyTable])] = &[
    ("checks", "Keys of checks", &[&VERIFY]),
    ("step", "Keys of a step", &[&STEP]),
    ("playbook", "Keys of playbooks and workflows", &[&PLAYBOOK, &WORKFLOW]),
    ("specialist", "Keys of specialists", &[&SPECIALIST, &PROFILE, &AGENT]),
    ("settings", "Keys of the settings", &[&SETTINGS]),
    ("plugin", "Keys of plugins", &[&PLUGIN, &PLUGIN_MANIFEST]),
    ("script", "Keys of scripts", &[&SCRIPT]),
    ("test", "Keys of test files", &[&TEST_FILE]),
];

/// The reference pages as (name, markdown): one table of keys per map.
pub fn key_reference() -> Vec<(&'static str, String)> {
    let mut done = BTreeSet::new();
    let mut page_of: BTreeMap<&str, &str> = BTreeMap::new();
    let mut pages = Vec::new();
    for (name, title, roots) in PAGES {
        let before = done.clone();
        pages.push((*name, page(title, roots, &mut done)));
        page_of.extend(done.difference(&before).map(|table| (*table, *name)));
    }
    for (name, text) in &mut pages {
        // The keys of `defaults` are those of a step.
        *text = text.replace("](#defaults)", "](step.md#step)");
        for (table, page) in page_of.iter().filter(|(_, page)| *page != name) {
            let anchor = table.to_lowercase();
            *text = text.replace(&format!("](#{anchor})"), &format!("]({page}.md#{anchor})"));
        }
    }
    pages
}

fn page(title: &str, roots: &[&'static KeyTable], done: &mut BTreeSet<&'static str>) -> String {
    let mut text = format!(
        "# {title}\n\n<!-- Generated from crates/language/src/definition/keys. Run `KB_UPDATE_DOCS=1 cargo test --test it`. -->\n"
    );
    let mut reached = BTreeMap::new();
    roots.iter().for_each(|table| reach(table, &mut reached));
    let first = roots.iter().map(|table| table.name);
    let rest: Vec<&str> = reached.keys().copied().filter(|name| *name != "defaults").collect();
    for name in first.chain(rest) {
        if done.insert(name) {
            section(reached[name], &mut text);
        }
    }
    text
}

fn section(table: &'static KeyTable, text: &mut String) {
    *text += &format!("\n## {}\n\n{}\n\n", table.name, table_text(table));
    *text += "| key | type | default | description | example |\n|---|---|---|---|---|\n";
    for key in table.keys() {
        *text += &row(table, key);
    }
    if let Some(others) = table.others {
        *text += &format!("| any other name | {} | | | |\n", cell(&others.name()));
    }
}

fn row(table: &KeyTable, key: &KeySpec) -> String {
    let default = match (key.required, key.default) {
        (true, _) => "**required**".to_owned(),
        (false, "") => String::new(),
        (false, default) if default.contains([' ', '`']) => default.to_owned(),
        (false, default) => format!("`{default}`"),
    };
    let mut about = key_text(table, key);
    if !key.only.is_empty() {
        let kinds: Vec<String> = key.only.iter().map(|kind| format!("`{kind}`")).collect();
        about += &format!(" Only with {}.", kinds.join(" or "));
    }
    match key.support {
        Support::Full => {}
        Support::Unused => about += " *Not used.*",
        Support::Planned => about += " *Not supported yet: no effect.*",
        Support::RunRefused => about += " *Not supported yet: runs with it are refused.*",
    }
    let example = example(key).map(|example| format!("`{}: {example}`", key.name));
    let example = example.unwrap_or_default();
    let cells = [format!("`{}`", key.name), key.ty.name(), default, about, example];
    let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The example of a key: its own, or one that follows from its type.
fn example(key: &KeySpec) -> Option<String> {
    match key.example {
        "" => derived(&key.ty, key.default, 2),
        own => Some(own.to_owned()),
    }
}

/// An example of a value that is not the default. Maps are shown with `depth` levels.
fn derived(ty: &KeyType, default: &str, depth: u32) -> Option<String> {
    match ty {
        KeyType::Boolean => Some((default != "true").to_string()),
        KeyType::Integer(least, most) => Some(4.clamp(*least, *most).to_string()),
        KeyType::Number(least, most) => Some(1.0_f64.clamp(*least, *most).to_string()),
        KeyType::Duration => Some("30s".to_owned()),
        KeyType::Choice(names) => {
            names.iter().find(|name| **name != default).map(|name| (*name).to_owned())
        }
        KeyType::Constant(text) => Some((*text).to_owned()),
        KeyType::Schema => Some("{summary: string}".to_owned()),
        KeyType::ListOrOne(inner) => derived(inner, "", depth),
        KeyType::List(inner) => derived(inner, "", depth).map(|one| format!("[{one}]")),
        KeyType::MapOf(inner) => derived(inner, "", depth).map(|one| format!("{{NAME: {one}}}")),
        KeyType::OneOf(types) => types.iter().find_map(|ty| derived(ty, default, depth)),
        KeyType::Map(table) => derived_map(table, depth.checked_sub(1)?),
        KeyType::Any
        | KeyType::Text
        | KeyType::Scalar
        | KeyType::Template
        | KeyType::ScalarTemplate
        | KeyType::Expression
        | KeyType::Pattern(_)
        | KeyType::AnyMap
        | KeyType::Steps
        | KeyType::Forbidden => None,
    }
}

/// A map with its required keys, or with the first key that has an example.
fn derived_map(table: &KeyTable, depth: u32) -> Option<String> {
    let entry = |key: &KeySpec| {
        let value = match key.example {
            "" => derived(&key.ty, key.default, depth)?,
            own => own.to_owned(),
        };
        Some(format!("{}: {value}", key.name))
    };
    let required: Vec<&KeySpec> = table.keys().filter(|key| key.required).collect();
    let entries: Vec<String> = if required.is_empty() {
        table.keys().find_map(entry).into_iter().collect()
    } else {
        required.into_iter().map(entry).collect::<Option<_>>()?
    };
    (!entries.is_empty()).then(|| format!("{{{}}}", entries.join(", ")))
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
