//! Decodes `forEach:`.

use super::{Decoder, Node, Secrets};
use crate::definition::check::name_form;
use crate::definition::keys::choices::ON_ERROR;
use crate::definition::keys::step_parts;
use crate::definition::model::{ForEach, OnError};
use crate::diagnostic::{Code, Diagnostic};

/// Decodes `forEach:`, and declares the item name for the templates of the step.
pub(crate) fn for_each(node: &Node, decoder: &mut Decoder) -> Option<ForEach> {
    let short = node.as_map().is_none();
    let fields = match short {
        true => None,
        false => Some(decoder.fields(node, &step_parts::FOR_EACH)?),
    };
    let list = match &fields {
        Some(fields) => decoder.required(fields, "in")?,
        None => node,
    };
    if list.as_seq().is_none() && list.as_text().is_none() {
        decoder.wrong_type(list, "forEach", "a list or a placeholder of one as a text");
        return None;
    }
    let items = decoder.value_template(list, Secrets::Refused);
    let mut name = "item".to_owned();
    let (mut key, mut max_parallel, mut on_item_error) = (None, None, OnError::Fail);
    if let Some(fields) = fields {
        if let Some(node) = fields.get("as") {
            name = item_name(node, decoder).unwrap_or(name);
        }
        decoder.names.item = Some(name.clone());
        key = fields.get("key").and_then(|node| decoder.template(node, "key", Secrets::Refused));
        max_parallel = fields.integer("maxParallel", decoder);
        on_item_error = fields.choice("onItemError", ON_ERROR, decoder).unwrap_or_default();
    }
    Some(ForEach { items: items?, name, key, max_parallel, on_item_error })
}

/// Decodes `as:`: a name that is not used for anything else.
fn item_name(node: &Node, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, "as")?;
    if !name_form::is_word(text) {
        let message = format!("`{text}` cannot be the name of an item");
        let help = "use a letter or `_`, then letters, digits and `_`";
        decoder.push(Diagnostic::error(Code::BAD_ID, node.span, message).help(help));
        return None;
    }
    if text != "item" {
        name_form::reserved(text, node.span, "an item", decoder);
    }
    if decoder.names.params.contains(text) || decoder.names.steps.contains(text) {
        let message = format!("`{text}` is also the name of a parameter or step");
        decoder.push(
            Diagnostic::error(Code::NAME_CLASH, node.span, message).help("choose another name"),
        );
    }
    Some(text.to_owned())
}
