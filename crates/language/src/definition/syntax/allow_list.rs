//! The allow-list of a specialist: `tools`.

use super::{Decoder, KeyValue, Node};
use crate::definition::keys::{KeySpec, KeyType};
use crate::definition::model::Specialist;
use crate::toolspec::{ToolMatch, ToolSpec};
use kb_base::diagnostic::Span;
use kb_base::value::ToolName;
use std::sync::Arc;

/// The tools that an allow-list names, each once.
#[derive(Debug, Default)]
pub(crate) struct AllowList {
    pub(crate) tools: Vec<Arc<ToolSpec>>,
    /// Names of tools that are not supported yet.
    unknown: Vec<ToolName>,
}

impl KeyValue for AllowList {
    const TYPE: KeyType = KeyType::ListOrOne(&KeyType::Text);

    fn decode(node: &Node, _: &str, _: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        Some(decoder.allow_list(node))
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        Some(AllowList::default())
    }
}

impl AllowList {
    /// Puts the tools on the allow-list of a specialist.
    pub(crate) fn add_to(self, found: &mut Specialist) {
        found.tools.extend(self.tools);
        found.unknown_tools.extend(self.unknown);
    }
}

impl Decoder {
    /// Decodes an allow-list: names, globs and aliases of tools.
    pub(crate) fn allow_list(&mut self, node: &Node) -> AllowList {
        let mut found = AllowList::default();
        for item in self.list(node, "tools") {
            // Claude Code writes `tools: Read, Write`.
            let Some(text) = self.text(item, "tools") else { continue };
            for name in split_names(text) {
                self.allow(name, item.span, &mut found);
            }
        }
        found
    }

    fn allow(&mut self, text: &str, span: Span, found: &mut AllowList) {
        let allowed = self.tools.allowed_by(text);
        if let (ToolMatch::NotYet, Ok(name)) = (&allowed, ToolName::new(text))
            && !found.unknown.contains(&name)
        {
            found.unknown.push(name);
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
