//! Decodes `params:`.

use super::{Decoder, Node};
use crate::definition::check::param_values;
use crate::definition::keys;
use crate::definition::keys::choices::PARAM_TYPE;
use crate::definition::model::Param;
use crate::definition::schema::Schema;
use crate::diagnostic::{Code, Diagnostic};

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
    let fields = decoder.fields(node, &keys::playbook::PARAM)?;
    let name_node = decoder.required(&fields, "name");
    let name = name_node.and_then(|node| decoder.text(node, "name"));
    let kind = fields.choice("type", PARAM_TYPE, decoder);
    let mut param = Param {
        name: name.unwrap_or_default().to_owned(),
        kind: kind.unwrap_or_default(),
        required: fields.boolean("required", decoder).unwrap_or(false),
        default: fields.get("default").map(Node::to_json),
        prompt: fields.text("prompt", decoder),
        description: fields.text("description", decoder),
        one_of: Vec::new(),
        pattern: fields.text("pattern", decoder),
        min: fields.number("min", decoder),
        max: fields.number("max", decoder),
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
