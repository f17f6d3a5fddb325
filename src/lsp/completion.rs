//! Completion: keys, values, names of the project, and expressions.

use super::cursor::{Cursor, Place};
use super::offer::{Context, kind};
use super::tables::slot;
use super::{expressions, names, values};
use kb_base::value::Json;
use kb_language::definition::{DefinitionFile, KeySpec, KeyTable, Param};
use kb_service::service::Project;
use serde_json::json;

/// The completions at the cursor.
pub(super) fn complete(context: Context<'_>) -> Vec<Json> {
    let Context { file, cursor, text, offset, project, .. } = context;
    let slot = || slot(file, &cursor.path);
    match cursor.at {
        Place::Key => match arguments(cursor, text, offset, project) {
            Some(items) => items,
            None => match keys(file, cursor) {
                // An item of a list in lines, or the line below a key.
                found if found.is_empty() => values::values(context),
                found => found,
            },
        },
        Place::Value if slot().is_some_and(|slot| names::takes_expression(&slot.ty)) => {
            expressions::complete(context)
        }
        Place::Value => values::values(context),
        Place::Expression => expressions::complete(context),
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
