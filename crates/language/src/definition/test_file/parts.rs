//! What several maps of test files have.

use crate::definition::keys::KeyRule;
use crate::definition::syntax::{Decoder, Fields};
use crate::toolspec::ToolMatch;
use kb_base::diagnostic::{Code, Diagnostic, Span};

/// The key of a map whose rule is that it has exactly one of some.
pub(super) fn require_one(fields: &Fields<'_>, decoder: &mut Decoder) -> Option<&'static str> {
    let KeyRule::ExactlyOne(names) = fields.rule() else { return None };
    let mut found = names.iter().filter(|name| fields.entry(name).is_some());
    if let (Some(one), None) = (found.next(), found.next()) {
        return Some(one);
    }
    if !fields.was_meant(names) {
        let count = names.iter().filter(|name| fields.entry(name).is_some()).count();
        let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let message = format!("{} has {count} of {listed}", fields.what());
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
