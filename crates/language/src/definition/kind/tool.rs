//! `tool:`: one tool call.

use super::execution::{Effects, Execution, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::check::tool_input;
use crate::definition::keys::{KeySpec, KeyType, key};
use crate::definition::model::NotYet;
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::Reference;
use crate::toolspec::{self, ToolMatch, allowed_by};
use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};
use kb_base::value::ToolName;

/// `tool:`: one tool call; its arguments are the `input` of the step.
#[derive(Debug, Clone)]
pub struct ToolStep {
    /// Name of the tool.
    pub tool: ToolName,
}

impl StepType for Box<ToolStep> {
    const KEYS: &'static [KeySpec] =
        &[key("tool", KeyType::Text, "Name of the tool to call; its arguments are in `input`.")
            .example("fs:write")];
    const OWN_KEYS: &'static [KeySpec] = &[];
    const RULES: KindRules = KindRules {
        unused_input: None,
        input_secrets: Secrets::Allowed,
        starts_process,
        ..KindRules::PROCESS
    };

    fn decode(
        node: &Node,
        fields: &Fields<'_>,
        decoder: &mut Decoder,
        refused: &mut Vec<NotYet>,
    ) -> Option<Box<ToolStep>> {
        let text = decoder.text(node, "tool")?;
        if text.contains("{{") || text.contains("<<") {
            decoder.push(
                Diagnostic::error(Code::VALUE_AS_CODE, node.span, "`tool` cannot be a placeholder")
                    .help("write the name of the tool literally"),
            );
            return None;
        }
        match (toolspec::find(text), allowed_by(text)) {
            (None, ToolMatch::Plugins) => {
                let spec = decoder.plugin(text, node.span)?;
                tool_input::check(&spec, node.span, fields.get("input"), decoder);
            }
            (Some(tool), _) => tool_input::check(tool, node.span, fields.get("input"), decoder),
            (None, ToolMatch::NotYet) => decoder.not_yet(text, node.span, refused),
            (None, pattern) => {
                let meant = match pattern {
                    ToolMatch::Tools(tools) => tools.first().map(|tool| &*tool.name),
                    ToolMatch::NotYet | ToolMatch::Plugins | ToolMatch::Unknown => {
                        nearest(text, toolspec::names())
                    }
                };
                decoder.unknown_tool(text, node.span, meant);
                return None;
            }
        }
        Some(Box::new(ToolStep { tool: ToolName::new(text).ok()? }))
    }

    fn execution(&self) -> Execution<'_> {
        let spec = toolspec::assumed(self.tool.as_str());
        Execution::Attempt(Effects {
            writes: spec.writes,
            runs_program: false,
            // The method may be known only when the tool is called.
            sends_request: spec.network,
            reads_network: spec.network,
            starts_processes: spec.runs_processes,
        })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        Vec::new()
    }

    fn output(&self) -> OutputForm<'_> {
        OutputForm::Any
    }

    fn worker(&self) -> String {
        self.tool.to_string()
    }
}

fn starts_process(fields: &Fields<'_>) -> bool {
    let tool = fields.get("tool").and_then(Node::as_text);
    tool.is_some_and(|tool| toolspec::assumed(tool).runs_processes)
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
