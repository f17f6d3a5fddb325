//! Completion: keys, values, names of the project, and expressions.

use super::cursor::{Cursor, Place, Segment};
use super::names;
use super::tables::slot;
use kb_base::value::Json;
use kb_language::definition::{DefinitionFile, KeySpec, KeyTable, KeyType, Param};
use kb_language::expression::STEP_FIELDS;
use kb_language::plan::{Plan, PlanStep};
use kb_service::service::Project;
use serde_json::json;

/// Kinds of items, as the protocol numbers them.
mod kind {
    pub(super) const FIELD: u32 = 5;
    pub(super) const VARIABLE: u32 = 6;
    pub(super) const MODULE: u32 = 9;
    pub(super) const PROPERTY: u32 = 10;
    pub(super) const VALUE: u32 = 12;
    pub(super) const REFERENCE: u32 = 18;
}

/// The completions at the cursor.
pub(super) fn complete(
    file: DefinitionFile,
    cursor: &Cursor,
    (text, offset): (&str, usize),
    plan: Option<&Plan>,
    project: &Project,
) -> Vec<Json> {
    match cursor.at {
        Place::Key => match arguments(cursor, text, offset, project) {
            Some(items) => items,
            None => keys(file, cursor),
        },
        Place::Value => {
            let slot = slot(file, &cursor.path);
            if slot.is_some_and(|slot| names::takes_expression(&slot.ty)) {
                return expression(&cursor.prefix, text, plan);
            }
            values(file, cursor, text, project)
        }
        Place::Expression => expression(&cursor.prefix, text, plan),
    }
}

fn keys(file: DefinitionFile, cursor: &Cursor) -> Vec<Json> {
    let Some(slot) = slot(file, &cursor.path) else { return Vec::new() };
    let tables = slot.tables();
    let all = tables.iter().flat_map(|table| table.keys().map(|key| (*table, key)));
    let siblings = &cursor.siblings;
    all.filter(|(_, key)| !siblings.iter().any(|own| own == key.name))
        .filter(|(table, key)| table.takes_beside(key, siblings))
        .enumerate()
        .map(|(order, (table, key))| key_item(table, key, order))
        .collect()
}

/// The parameters of the child run in `with`, and the arguments of the tool in `input`.
fn arguments(cursor: &Cursor, text: &str, offset: usize, project: &Project) -> Option<Vec<Json>> {
    let names = match cursor.path.last()?.key()? {
        "with" => {
            let id = names::sibling(text, offset, &names::PLAYBOOK)?;
            let params = &project.catalog.playbooks.get(id)?.params;
            let item = |param: &Param| (param.name.clone(), "parameter", param.description.clone());
            params.iter().map(item).collect::<Vec<_>>()
        }
        "input" => {
            let tool = names::sibling(text, offset, &names::TOOL)?;
            let spec = project.catalog.tools.find(tool)?;
            let properties = spec.input["properties"].as_object()?;
            let about = |part: &Json| part["description"].as_str().map(str::to_owned);
            properties.iter().map(|(name, part)| (name.clone(), "argument", about(part))).collect()
        }
        _ => return None,
    };
    let is_new = |name: &String| !cursor.siblings.iter().any(|own| own == name);
    let new = names.into_iter().filter(|(name, ..)| is_new(name));
    let item = |(name, detail, about): (String, &str, Option<String>)| {
        let insert = format!("{name}: ");
        json!({"label": name, "kind": kind::PROPERTY, "detail": detail, "documentation": about, "insertText": insert})
    };
    Some(new.map(item).collect())
}

fn key_item(table: &KeyTable, key: &KeySpec, order: usize) -> Json {
    json!({
        "label": key.name,
        "kind": kind::PROPERTY,
        "detail": format!("key of {}", table.what),
        "documentation": {"kind": "markdown", "value": described(key)},
        "insertText": format!("{}: ", key.name),
        "sortText": format!("{order:04}"),
    })
}

/// The text of the reference about a key.
pub(super) fn described(key: &KeySpec) -> String {
    let mut text = key.about.to_owned();
    if key.required {
        text.push_str("\n\nRequired.");
    }
    if !key.default.is_empty() {
        text.push_str(&format!("\n\nDefault: {}", quoted(key.default)));
    }
    if !key.example.is_empty() {
        text.push_str(&format!("\n\n```yaml\n{}: {}\n```", key.name, key.example));
    }
    text
}

fn quoted(text: &str) -> String {
    if text.contains(['`', ' ']) { text.to_owned() } else { format!("`{text}`") }
}

fn values(file: DefinitionFile, cursor: &Cursor, text: &str, project: &Project) -> Vec<Json> {
    let named = cursor.path.iter().rev().find_map(Segment::key);
    let of_project = named.map(|key| names_for(key, text, project)).unwrap_or_default();
    if !of_project.is_empty() {
        return of_project;
    }
    slot(file, &cursor.path).map(|slot| choices(&slot.ty)).unwrap_or_default()
}

/// The names that the value of a key can be.
fn names_for(key: &str, text: &str, project: &Project) -> Vec<Json> {
    let item = |label: &str, kind: u32, detail: &str| json!({"label": label, "kind": kind, "detail": detail});
    match key {
        "specialist" | "agent" => {
            let all = project.catalog.specialists.values();
            all.map(|found| item(found.id.as_str(), kind::MODULE, &found.name)).collect()
        }
        "playbook" => {
            let all = project.catalog.playbooks.values();
            all.map(|found| item(found.id.as_str(), kind::MODULE, &found.name)).collect()
        }
        "tool" | "tools" => {
            let all = project.catalog.tools.tools();
            all.map(|tool| item(&tool.name, kind::VALUE, &tool.description)).collect()
        }
        "dependsOn" | "depends_on" | "interruptAfter" => {
            let all = names::steps(text).into_iter();
            all.map(|(name, _)| item(&name, kind::REFERENCE, "step")).collect()
        }
        _ => Vec::new(),
    }
}

fn choices(ty: &KeyType) -> Vec<Json> {
    let item = |label: &str| json!({"label": label, "kind": kind::VALUE});
    match ty {
        KeyType::Choice(names) => names.iter().map(|name| item(name)).collect(),
        KeyType::Constant(text) => vec![item(text)],
        KeyType::Boolean => vec![item("true"), item("false")],
        KeyType::List(inner) | KeyType::ListOrOne(inner) => choices(inner),
        KeyType::OneOf(types) => types.iter().flat_map(choices).collect(),
        _ => Vec::new(),
    }
}

/// The names that can follow in an expression: parameters and steps, the fields of a step, the keys of its
/// output.
fn expression(prefix: &str, text: &str, plan: Option<&Plan>) -> Vec<Json> {
    let is_name = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let start = prefix.char_indices().rev().find(|(_, c)| !is_name(*c));
    let reference = &prefix[start.map_or(0, |(at, c)| at + c.len_utf8())..];
    let parts: Vec<&str> = reference.split('.').collect();
    let parts = parts.strip_prefix(&["steps"]).unwrap_or(&parts);
    let item = |label: &str, kind: u32, detail: &str| json!({"label": label, "kind": kind, "detail": detail});
    match parts {
        [_] => {
            let params = names::params(text).into_iter();
            let params = params.map(|(name, _)| item(&name, kind::VARIABLE, "parameter"));
            let steps = names::steps(text).into_iter();
            let steps =
                steps.map(|(name, _)| item(&name.replace('-', "_"), kind::REFERENCE, "step"));
            let roots = ["params", "steps", "run", "env", "secrets", "loop", "item"];
            let roots = roots.iter().map(|root| item(root, kind::VARIABLE, "root"));
            params.chain(steps).chain(roots).collect()
        }
        ["params", _] => {
            let params = names::params(text).into_iter();
            params.map(|(name, _)| item(&name, kind::VARIABLE, "parameter")).collect()
        }
        [_, _] => {
            STEP_FIELDS.iter().map(|field| item(field, kind::FIELD, "field of a step")).collect()
        }
        [step, "output", _] => output_keys(step, plan)
            .iter()
            .map(|key| item(key, kind::FIELD, "key of the output"))
            .collect(),
        _ => Vec::new(),
    }
}

/// The keys of the output of a step, from the last plan of the file.
fn output_keys(step: &str, plan: Option<&Plan>) -> Vec<String> {
    let Some(plan) = plan else { return Vec::new() };
    let found = plan.steps().iter().find(|own| own.step.id.as_str().replace('-', "_") == *step);
    found.map(PlanStep::output_keys).unwrap_or_default()
}
