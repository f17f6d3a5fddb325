//! Decodes `params:`.

use super::{Decoder, Node};
use crate::definition::check::param_values;
use crate::definition::model::{Param, ParamType};
use crate::definition::schema::Schema;
use crate::diagnostic::{Code, Diagnostic};

const KEYS: [&str; 11] = [
    "name",
    "type",
    "required",
    "default",
    "prompt",
    "description",
    "enum",
    "pattern",
    "min",
    "max",
    "schema",
];

const TYPES: [(&str, ParamType); 8] = [
    ("string", ParamType::String),
    ("integer", ParamType::Integer),
    ("number", ParamType::Number),
    ("boolean", ParamType::Boolean),
    ("list", ParamType::List),
    ("object", ParamType::Object),
    ("path", ParamType::Path),
    ("secret", ParamType::Secret),
];

/// Decodes `params:`.
pub(crate) fn params(node: &Node, decoder: &mut Decoder) -> Vec<Param> {
    let Some(items) = node.as_seq() else {
        let message = format!("`params` takes a list, found {}", node.kind());
        decoder.push(
            Diagnostic::error(Code::WRONG_TYPE, node.span, message)
                .help("write `params: [{name: topic, required: true}]`"),
        );
        return Vec::new();
    };
    items.iter().filter_map(|item| param(item, decoder)).collect()
}

fn param(node: &Node, decoder: &mut Decoder) -> Option<Param> {
    let fields = decoder.fields(node, "a parameter", &KEYS)?;
    let name_node = decoder.required(&fields, "name", "a parameter");
    let name = name_node.and_then(|node| decoder.text(node, "name"));
    let kind = fields.get("type").and_then(|node| decoder.one_of(node, "type", &TYPES));
    let mut param = Param {
        name: name.unwrap_or_default().to_owned(),
        kind: kind.unwrap_or_default(),
        required: fields
            .get("required")
            .and_then(|n| decoder.boolean(n, "required"))
            .unwrap_or(false),
        default: fields.get("default").map(Node::to_json),
        prompt: text(&fields, "prompt", decoder),
        description: text(&fields, "description", decoder),
        one_of: Vec::new(),
        pattern: text(&fields, "pattern", decoder),
        min: number(&fields, "min", decoder),
        max: number(&fields, "max", decoder),
        schema: fields.get("schema").and_then(|node| Schema::decode(node, decoder)),
        inferred: false,
        span: name_node.map_or(node.span, |node| node.span),
    };
    if let Some(node) = fields.get("enum") {
        param.one_of = decoder.list(node, "enum").iter().map(Node::to_json).collect();
    }
    name?;
    let default = fields.get("default").map_or(param.span, |node| node.span);
    let pattern = fields.get("pattern").map_or(param.span, |node| node.span);
    param_values::check(&param, default, pattern, decoder);
    Some(param)
}

fn text(fields: &super::Fields<'_>, key: &str, decoder: &mut Decoder) -> Option<String> {
    fields.get(key).and_then(|node| decoder.text(node, key)).map(str::to_owned)
}

fn number(fields: &super::Fields<'_>, key: &str, decoder: &mut Decoder) -> Option<f64> {
    fields.get(key).and_then(|node| decoder.number(node, key, f64::NEG_INFINITY, f64::INFINITY))
}
