//! The JSON Schema of parameters, for forms and programs.

use kb_base::value::{Json, JsonMap};
use kb_language::definition::{Param, ParamType};
use serde_json::json;

/// The JSON Schema of the values of these parameters, in the order of their declaration.
pub fn params_schema(params: &[Param]) -> Json {
    let properties: JsonMap =
        params.iter().map(|param| (param.name.clone(), property(param))).collect();
    let is_required = |param: &&Param| param.required && param.default.is_none();
    let required: Vec<&str> =
        params.iter().filter(is_required).map(|param| param.name.as_str()).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(param: &Param) -> Json {
    let mut schema =
        param.schema.as_ref().map_or_else(|| json!({}), |schema| schema.json().clone());
    let Some(map) = schema.as_object_mut() else { return schema };
    let kind = match param.kind {
        ParamType::String | ParamType::Path | ParamType::Secret => "string",
        ParamType::Integer => "integer",
        ParamType::Number => "number",
        ParamType::Boolean => "boolean",
        ParamType::List => "array",
        ParamType::Object => "object",
    };
    map.entry("type").or_insert_with(|| Json::from(kind));
    let mut add = |name: &str, value: Option<Json>| {
        map.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("title", param.prompt.clone().map(Json::from));
    add("description", param.description.clone().map(Json::from));
    add("default", param.default.clone());
    add("enum", (!param.one_of.is_empty()).then(|| Json::from(param.one_of.clone())));
    add("pattern", param.pattern.clone().map(|pattern| Json::from(format!("^(?:{pattern})$"))));
    let (least, most) = match kind {
        "integer" | "number" => ("minimum", "maximum"),
        "array" => ("minItems", "maxItems"),
        _ => ("minLength", "maxLength"),
    };
    let bound = |bound: f64| match kind {
        "number" => Json::from(bound),
        _ => Json::from(bound as i64),
    };
    add(least, param.min.map(bound));
    add(most, param.max.map(bound));
    match param.kind {
        ParamType::Secret => add("format", Some(Json::from("secret-reference"))),
        ParamType::Path => add("format", Some(Json::from("path"))),
        _ => {}
    }
    schema
}
