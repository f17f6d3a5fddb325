//! `tool:`: one tool call.

use super::spec::Kind;
use crate::definition::check::tool_input;
use crate::definition::model::{NotYet, StepKind};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::diagnostic::{Code, Diagnostic, Span, nearest};
use crate::toolspec::{self, ToolMatch, allowed_by};
use crate::value::ToolName;

pub(super) static TOOL: Kind = Kind {
    unused_input: None,
    input_secrets: Secrets::Allowed,
    starts_process,
    ..Kind::new("tool", decode)
};

fn starts_process(fields: &Fields<'_>) -> bool {
    let spec = fields.get("tool").and_then(Node::as_text).and_then(toolspec::find);
    spec.is_some_and(|spec| spec.runs_processes)
}

fn decode(
    node: &Node,
    fields: &Fields<'_>,
    decoder: &mut Decoder,
    _: &mut Vec<NotYet>,
) -> Option<StepKind> {
    let text = decoder.text(node, "tool")?;
    if text.contains("{{") || text.contains("<<") {
        decoder.push(
            Diagnostic::error(Code::VALUE_AS_CODE, node.span, "`tool` cannot be a placeholder")
                .help("write the name of the tool literally"),
        );
        return None;
    }
    match (toolspec::find(text), allowed_by(text)) {
        (Some(tool), _) => tool_input::check(tool, node.span, fields.get("input"), decoder),
        (None, ToolMatch::NotYet) => decoder.comes_later(text, node.span),
        (None, pattern) => {
            let meant = match pattern {
                ToolMatch::Tools(tools) => tools.first().map(|tool| tool.name),
                ToolMatch::NotYet | ToolMatch::Unknown => nearest(text, toolspec::names()),
            };
            decoder.unknown_tool(text, node.span, meant);
            return None;
        }
    }
    Some(StepKind::Tool { tool: ToolName::new(text).ok()?, span: node.span })
}

impl Decoder {
    /// Reports a name that is not the name of a tool.
    pub(crate) fn unknown_tool(&mut self, text: &str, span: Span, meant: Option<&str>) {
        let help = match meant {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                let names: Vec<&str> = toolspec::names().collect();
                format!("known tools: {}", names.join(", "))
            }
        };
        self.push(
            Diagnostic::error(Code::NO_SUCH_TOOL, span, format!("unknown tool `{text}`"))
                .help(help),
        );
    }
}
