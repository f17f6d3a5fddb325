//! Derives the JSON Schemas of definition files from the tables of keys, for `kb schema`.

use super::describe::{key_text, table_text};
use super::file::DefinitionFile;
use super::reach::reach;
use super::table::{KeyRule, KeySpec, KeyTable, Support};
use crate::definition::kind;
use crate::definition::syntax::step_keys::STEP;
use kb_base::value::{Json, JsonMap};
use serde_json::json;
use std::collections::BTreeMap;

/// The JSON Schema (draft 2020-12) of a kind of definition file.
///
/// Files that load are valid, except where a key is present without a value. The snake_case spelling
/// of a key is accepted through `patternProperties`, so that editors do not suggest it.
pub fn file_schema(file: DefinitionFile) -> Json {
    let mut reached = BTreeMap::new();
    for table in file.tables() {
        reach(table, &mut reached);
    }
    let definitions: JsonMap =
        reached.values().map(|table| (table.name.to_owned(), table_schema(table))).collect();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title(file),
    });
    let references: Vec<Json> = file.tables().into_iter().map(reference).collect();
    match references.as_slice() {
        [one] => schema["$ref"] = one["$ref"].clone(),
        _ => schema["anyOf"] = Json::Array(references),
    }
    if reached.contains_key(STEP.name) {
        schema["if"] = json!({"properties": {"defaults": none_of(kind::NAMES)}});
        let in_place = json!({"allOf": [none_of(kind::NAMES), {"required": [kind::CAPABILITY]}]});
        let step = json!({"items": {"anyOf": [exactly_one(kind::NAMES), in_place]}});
        schema["then"] = json!({"properties": {"steps": step, "finally": step}});
        schema["properties"] = json!({"steps": {"minItems": 1}});
    }
    schema["$defs"] = Json::Object(definitions);
    schema
}

fn title(file: DefinitionFile) -> &'static str {
    match file {
        DefinitionFile::Playbook => "kb.playbook/1",
        DefinitionFile::Workflow => "kb workflow",
        DefinitionFile::Specialist => "kb.specialist/1",
        DefinitionFile::AgentProfile => "kb agent profile",
        DefinitionFile::Plugin => "kb.plugin/1",
        DefinitionFile::Script => "kb.script/1",
        DefinitionFile::Test => "kb.test/1",
        DefinitionFile::Settings => "kb settings",
    }
}

fn reference(table: &KeyTable) -> Json {
    json!({"$ref": format!("#/$defs/{}", table.name)})
}

fn table_schema(table: &'static KeyTable) -> Json {
    let mut properties = JsonMap::new();
    let mut snake = JsonMap::new();
    let mut constraints = Vec::new();
    for key in table.keys() {
        properties.insert(key.name.to_owned(), key_schema(table, key));
        let spelling = key.snake_case();
        if let Some(spelling) = &spelling {
            let path = format!("#/$defs/{}/properties/{}", table.name, key.name);
            snake.insert(format!("^{spelling}$"), json!({"$ref": path}));
        }
        if key.required {
            let forms = [Some(key.name.to_owned()), spelling];
            let present: Vec<Json> =
                forms.into_iter().flatten().map(|name| json!({"required": [name]})).collect();
            constraints.push(match present.as_slice() {
                [one] => one.clone(),
                _ => json!({"anyOf": present}),
            });
        }
    }
    match table.rule {
        KeyRule::Any => {}
        KeyRule::ExactlyOne(names) => constraints.push(exactly_one(names)),
        KeyRule::AtLeastOne(names) => constraints.push(json!({"anyOf": present(names)})),
        KeyRule::OneOrInherited(names) => {
            let mut choices = present(names);
            choices.push(none_of(names));
            constraints.push(json!({"oneOf": choices}));
        }
    }
    let others = table.others.map_or(json!(false), |ty| ty.json_schema());
    let mut schema = json!({
        "description": table_text(table),
        "type": "object",
        "properties": properties,
        "additionalProperties": others,
    });
    if !snake.is_empty() {
        schema["patternProperties"] = Json::Object(snake);
    }
    if !constraints.is_empty() {
        schema["allOf"] = Json::Array(constraints);
    }
    schema
}

fn key_schema(table: &KeyTable, key: &KeySpec) -> Json {
    let mut schema = key.ty.json_schema();
    let Some(map) = schema.as_object_mut() else { return schema };
    let mut description = key_text(table, key);
    if !key.default.is_empty() {
        description += &format!(" Default: {}.", key.default.trim_end_matches('.'));
    }
    match key.support {
        Support::Full => {}
        Support::Unused => description += " Not used.",
        Support::Planned => description += " Not supported yet: no effect.",
        Support::RunRefused => description += " Not supported yet: runs with it are refused.",
    }
    map.insert("description".to_owned(), description.into());
    schema
}

fn present(names: &[&str]) -> Vec<Json> {
    names.iter().map(|name| json!({"required": [name]})).collect()
}

fn exactly_one(names: &[&str]) -> Json {
    json!({"oneOf": present(names)})
}

fn none_of(names: &[&str]) -> Json {
    json!({"not": {"anyOf": present(names)}})
}
