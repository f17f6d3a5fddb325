//! Decodes `params:`.

use super::{Decoder, Fields, Node};
use crate::definition::check::param_values;
use crate::definition::model::playbook::PARAM;
use crate::definition::model::{Param, ParamType};
use kb_base::diagnostic::{Code, Diagnostic};

/// Decodes `params:`.
pub(crate) fn params(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Vec<Param>> {
    let Some(items) = node.as_seq() else {
        let message = format!("`params` takes a list, found {}", node.kind());
        decoder.push(
            Diagnostic::error(Code::WRONG_TYPE, node.span, message)
                .help("write `params: [{name: topic, required: true}]`"),
        );
        return Some(Vec::new());
    };
    Some(items.iter().filter_map(|item| param(item, decoder)).collect())
}

fn param(node: &Node, decoder: &mut Decoder) -> Option<Param> {
    let fields = decoder.fields(node, &PARAM)?;
    let mut param = Param::of(&fields, decoder)?;
    param.span = fields.get("name").map_or(node.span, |node| node.span);
    let allowed =
        fields.get("enum").map(|node| node.as_seq().unwrap_or(std::slice::from_ref(node)));
    let allowed = allowed.unwrap_or_default();
    // An unknown type is reported, and says nothing about the other keys.
    let has_type =
        fields.get("type").is_none_or(|kind| kind.as_text() == Some(param.kind.as_str()));
    if has_type {
        without_effect(&fields, param.kind, decoder);
        let places = allowed.iter().map(|node| node.span);
        param_values::check_enum(&param, places, decoder);
    }
    let default = fields.get("default").map_or(param.span, |node| node.span);
    let pattern = fields.get("pattern").map_or(param.span, |node| node.span);
    if has_type {
        param_values::check(&param, default, pattern, decoder);
    }
    Some(param)
}

/// Warns about keys that limit no value of this type.
fn without_effect(fields: &Fields<'_>, kind: ParamType, decoder: &mut Decoder) {
    let is_text = matches!(kind, ParamType::String | ParamType::Path | ParamType::Secret);
    let has_size = kind != ParamType::Boolean;
    for (name, has_effect, help) in [
        ("pattern", is_text, "remove it; a pattern is for texts"),
        ("min", has_size, "remove it; bounds are for numbers, texts, lists and objects"),
        ("max", has_size, "remove it; bounds are for numbers, texts, lists and objects"),
    ] {
        let Some((key, _)) = fields.entry(name).filter(|_| !has_effect) else { continue };
        let kind = fields.get("type").and_then(Node::as_text).unwrap_or("string");
        let message = format!("`{name}` has no effect on a parameter of the type `{kind}`");
        decoder.push(Diagnostic::warning(Code::NO_EFFECT, key.span, message).help(help));
    }
}
