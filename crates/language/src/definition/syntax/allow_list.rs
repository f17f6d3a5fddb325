//! The allow-list of a specialist: `tools`.

use super::{Decoder, Node};
use crate::definition::model::Specialist;
use crate::toolspec::{self, ToolMatch, allowed_by};
use kb_base::diagnostic::Span;
use kb_base::value::ToolName;

impl Decoder {
    /// Decodes an allow-list: names, globs and aliases of tools.
    pub(crate) fn tools(&mut self, node: &Node, found: &mut Specialist) {
        for item in self.list(node, "tools") {
            // Claude Code writes `tools: Read, Write`.
            let Some(text) = self.text(item, "tools") else { continue };
            for name in split_names(text) {
                self.allow(name, item.span, found);
            }
        }
    }

    fn allow(&mut self, text: &str, span: Span, found: &mut Specialist) {
        match allowed_by(text) {
            ToolMatch::Tools(tools) => {
                for tool in tools.iter().filter_map(|tool| ToolName::new(&tool.name).ok()) {
                    if !found.tools.contains(&tool) {
                        found.tools.push(tool);
                    }
                }
            }
            ToolMatch::Plugins => {
                for tool in self.plugin_names(text, span) {
                    if !found.tools.contains(&tool) {
                        found.tools.push(tool);
                    }
                }
            }
            ToolMatch::NotYet => {
                self.comes_later(text, span);
                match ToolName::new(text) {
                    Ok(name) if !found.unknown_tools.contains(&name) => {
                        found.unknown_tools.push(name)
                    }
                    _ => {}
                }
            }
            ToolMatch::Unknown => {
                self.unknown_tool(text, span, self.nearest(text, toolspec::names()));
            }
        }
    }
}

/// Splits names at commas; commas in parentheses do not count: `Bash(git add:*, git diff:*)`.
fn split_names(text: &str) -> Vec<&str> {
    let (mut names, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                names.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    names.push(&text[start..]);
    names.into_iter().map(str::trim).filter(|name| !name.is_empty()).collect()
}
