//! Decodes `locks:` and `merge:` of a step.

use super::{Decoder, Fields, Node};
use crate::definition::model::MergePolicy;
use kb_base::diagnostic::{Code, Diagnostic};

/// The lock that writing steps hold without naming it.
const WORKSPACE: &str = "workspace";

/// Decodes `locks:`: names, each once.
pub(super) fn locks(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<String> {
    let items = decoder.list(node, key);
    let mut names: Vec<String> =
        items.iter().filter_map(|item| decoder.lock_name(item, key)).collect();
    names.sort();
    names.dedup();
    names
}

impl Decoder {
    /// Decodes `merge:` of a step in a worktree or copy.
    pub(crate) fn merge(&mut self, fields: &Fields<'_>) -> Option<MergePolicy> {
        let node = fields.get("merge")?;
        let merge = fields.choice("merge", self)?;
        let workspace = fields.get("workspace").and_then(Node::as_text).unwrap_or_default();
        match workspace {
            "worktree" => {}
            "copy" if merge == MergePolicy::Rebase => {
                let help = "write `merge: patch`, or `workspace: worktree`".to_owned();
                self.bad_value(node.span, "a copy has no commits to rebase".to_owned(), help);
                return None;
            }
            "copy" => {}
            _ => {
                let message = "`merge` has no effect without a worktree or copy";
                let help = "add `workspace: worktree` or `workspace: copy`, or remove it";
                self.push(Diagnostic::warning(Code::NO_EFFECT, node.span, message).help(help));
            }
        }
        Some(merge)
    }

    /// Decodes the name of a lock.
    pub(super) fn lock_name(&mut self, node: &Node, key: &str) -> Option<String> {
        let text = self.text(node, key)?;
        let form = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        let (message, help) = match text {
            WORKSPACE => ("`workspace` is a lock of its own", "write `workspace: exclusive`"),
            text if text.is_empty() || text.len() > 64 || !text.chars().all(form) => (
                "this cannot be the name of a lock",
                "use up to 64 letters, digits, `_`, `-`, `.` and `/`",
            ),
            _ => return Some(text.to_owned()),
        };
        self.bad_value(node.span, message.to_owned(), help.to_owned());
        None
    }
}
