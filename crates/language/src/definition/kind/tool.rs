//! `tool:`: one tool call.

use super::execution::{Effects, Execution, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::check::tool_input;
use crate::definition::keys::{KeySpec, KeyType, Named, key};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::Reference;
use crate::toolspec::{ToolMatch, ToolSpec, built_in};
use kb_base::diagnostic::{Code, Diagnostic};
use std::sync::Arc;

/// `tool:`: one tool call; its arguments are the `input` of the step.
#[derive(Debug, Clone)]
pub struct ToolStep {
    /// Its entry in the catalog of the project.
    pub tool: Arc<ToolSpec>,
}

impl StepType for Box<ToolStep> {
    const KEYS: &'static [KeySpec] =
        &[key("tool", KeyType::Text, "Name of the tool to call; its arguments are in `input`.")
            .names(Named::Tool)
            .example("fs:write")];
    const OWN_KEYS: &'static [KeySpec] = &[];
    const RULES: KindRules = KindRules {
        unused_input: None,
        input_secrets: Secrets::Allowed,
        starts_process,
        ..KindRules::PROCESS
    };

    fn decode(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<Box<ToolStep>> {
        let text = decoder.text(node, "tool")?;
        if text.contains("{{") || text.contains("<<") {
            decoder.push(
                Diagnostic::error(Code::VALUE_AS_CODE, node.span, "`tool` cannot be a placeholder")
                    .help("write the name of the tool literally"),
            );
            return None;
        }
        let tool = match (decoder.tools.find(text).cloned(), decoder.tools.allowed_by(text)) {
            (Some(tool), _) => {
                tool_input::check(&tool, node.span, fields.get("input"), decoder);
                tool
            }
            (None, ToolMatch::NotYet) => {
                decoder.not_yet(text, node.span);
                decoder.tools.entry(text)
            }
            (None, ToolMatch::Tools(several)) => {
                decoder.unknown_tool(text, node.span, several.first().map(|tool| &*tool.name));
                return None;
            }
            (None, found) => {
                decoder.named_tools(text, node.span, found);
                return None;
            }
        };
        Some(Box::new(ToolStep { tool }))
    }

    fn execution(&self) -> Execution<'_> {
        let spec = &self.tool;
        Execution::Attempt(Effects {
            writes: spec.writes,
            runs_program: false,
            // The method may be known only when the tool is called.
            sends_request: spec.network,
            reads_others: spec.reads_others(),
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
    tool.is_some_and(|tool| built_in().entry(tool).runs_processes)
}
