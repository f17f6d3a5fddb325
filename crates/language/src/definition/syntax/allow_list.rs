//! The allow-list of a specialist: `tools`.

use super::{Decoder, Node};
use crate::definition::model::Specialist;
use crate::toolspec::ToolMatch;
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
        let allowed = self.tools.allowed_by(text);
        if let (ToolMatch::NotYet, Ok(name)) = (&allowed, ToolName::new(text))
            && !found.unknown_tools.contains(&name)
        {
            found.unknown_tools.push(name);
        }
        for tool in self.named_tools(text, span, allowed) {
            if !found.tools.contains(&tool) {
                found.tools.push(tool);
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
