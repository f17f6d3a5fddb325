//! Decodes parts that several maps of test files have.

use super::{Decoder, Fields, Node};
use crate::definition::model::Located;
use crate::toolspec::ToolMatch;
use kb_base::diagnostic::{Code, Diagnostic, Span};

/// A text with its position.
pub(super) fn text(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Located<String>> {
    let value = decoder.text(node, key)?.to_owned();
    Some(Located { value, span: node.span })
}

/// The key of a map that must have exactly one of these.
pub(super) fn require_one(
    fields: &Fields<'_>,
    names: &[&'static str],
    decoder: &mut Decoder,
) -> Option<&'static str> {
    let found: Vec<&'static str> =
        names.iter().copied().filter(|name| fields.entry(name).is_some()).collect();
    if let [one] = found.as_slice() {
        return Some(one);
    }
    if !fields.was_meant(names) {
        let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let message = format!("{} has {} of {listed}", fields.what(), found.len());
        let found = Diagnostic::error(Code::BAD_VALUE, fields.span, message);
        decoder.push(found.help("write exactly one of them"));
    }
    None
}

/// The name of one tool: a name, an alias, or a plugin.
pub(super) fn tool_name(written: &str, span: Span, decoder: &mut Decoder) -> Option<String> {
    match decoder.tools.allowed_by(written) {
        ToolMatch::Tools(tools) if tools.len() == 1 => Some(tools[0].name.to_string()),
        // Tests are read without the plugins and servers of the project.
        ToolMatch::Refused(_) | ToolMatch::Unusable(_) | ToolMatch::Undefined(_) => {
            Some(written.to_owned())
        }
        ToolMatch::Tools(tools) => {
            let names = tools.iter().map(|tool| format!("`{}`", tool.name)).collect::<Vec<_>>();
            let message = format!("`{written}` stands for several tools");
            decoder.bad_value(span, message, format!("name one of {}", names.join(", ")));
            None
        }
        ToolMatch::NotYet | ToolMatch::Unknown => {
            decoder.named_tools(written, span, ToolMatch::Unknown);
            None
        }
    }
}
