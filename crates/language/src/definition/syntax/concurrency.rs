//! Decodes `concurrency:` of a playbook, and `locks:` and `merge:` of a step.

use super::{Decoder, Fields, Node, Secrets};
use crate::definition::keys;
use crate::definition::model::{Concurrency, MergePolicy};
use crate::expression::Root;
use kb_base::diagnostic::{Code, Diagnostic};

/// The lock that writing steps hold without naming it.
const WORKSPACE: &str = "workspace";

impl Decoder {
    /// Decodes `concurrency: {group, onConflict}`, or the name of the group alone.
    pub(crate) fn concurrency(&mut self, node: &Node) -> Option<Concurrency> {
        if node.as_text().is_some() {
            let group = self.group(node)?;
            return Some(Concurrency { group: Some(group), on_conflict: Default::default() });
        }
        let fields = self.fields(node, &keys::playbook::CONCURRENCY)?;
        let group = fields.get("group").map(|node| self.group(node));
        let on_conflict = fields.choice("onConflict", self).unwrap_or_default();
        match group {
            Some(None) => None,
            Some(group) => Some(Concurrency { group, on_conflict }),
            None => Some(Concurrency { group: None, on_conflict }),
        }
    }

    /// The name of a group exists before the run, so it can read parameters only.
    fn group(&mut self, node: &Node) -> Option<crate::expression::Template> {
        let group = self.template(node, "group", Secrets::Refused)?;
        let other = |root: &Root| !matches!(root, Root::Param(_) | Root::Params);
        if let Some(found) = group.references().find(|reference| other(&reference.root)) {
            let message = "the name of a concurrency group can read parameters only";
            let problem = Diagnostic::error(Code::NAME_OUT_OF_SCOPE, found.span, message)
                .caption("does not exist before the run")
                .help("declare a parameter for it");
            self.push(problem);
            return None;
        }
        if group.as_literal().is_some_and(|name| name.trim().is_empty()) {
            let help = "write a name, or leave it out for the id of the playbook".to_owned();
            self.bad_value(node.span, "`group` is empty".to_owned(), help);
            return None;
        }
        Some(group)
    }

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

    /// Decodes `locks:`: names, each once.
    pub(crate) fn locks(&mut self, fields: &Fields<'_>) -> Vec<String> {
        let Some(node) = fields.get("locks") else { return Vec::new() };
        let items = self.list(node, "locks");
        let mut names: Vec<String> =
            items.iter().filter_map(|item| self.lock_name(item, "locks")).collect();
        names.sort();
        names.dedup();
        names
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
