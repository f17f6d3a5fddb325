//! `if` of jobs and steps of GitHub Actions.

use super::actions_expression::operand_of_and;
use super::actions_scope::Scope;
use super::actions_syntax::{Node, parse};
use super::draft::Draft;
use super::fields::words;
use kb_language::definition::Positioned;

/// When a step or job runs, by what happened before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum When {
    /// If nothing before it failed.
    #[default]
    Success,
    /// Whatever happened: `always()`, `!cancelled()`.
    Always,
    /// If something before it failed: `failure()`.
    Failure,
    /// In no case that a playbook has: `cancelled()`.
    Never,
}

/// A condition of a step or job.
#[derive(Debug, Clone, Default)]
pub(super) struct Condition {
    /// When it runs, by what happened before.
    pub(super) when: When,
    /// What must be true too, as an expression of a playbook.
    pub(super) expression: Option<String>,
}

impl Condition {
    /// Whether it can leave a step out although nothing failed.
    pub(super) fn may_skip(&self) -> bool {
        self.expression.is_some() || self.when == When::Failure
    }

    /// The condition of a text. What has no counterpart is reported: the step fails.
    /// `after_failure`: it is read also if steps before it failed, whatever it says itself.
    pub(super) fn of(
        value: &Positioned,
        scope: &Scope,
        after_failure: bool,
        draft: &mut Draft,
    ) -> Condition {
        let text = words(value, "if", draft).unwrap_or_default();
        let bare = text.replace("${{", "(").replace("}}", ")");
        let mut found = Condition::default();
        // What it says about failures may stand after what it reads.
        let when = |node: &Node| {
            let mut found = Condition::default();
            let _ = found.add(node, scope);
            found.when
        };
        let scope = |node: &Node| {
            let after_failure = after_failure || when(node) != When::Success;
            Scope { after_failure, ..scope.clone() }
        };
        let read = match bare.split_once("secrets.") {
            // A condition cannot read a secret.
            Some((_, rest)) => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                Err(format!("secrets.{}", &rest[..end.unwrap_or(rest.len())]))
            }
            None => parse(&bare).and_then(|node| found.add(&node, &scope(&node))),
        };
        if let Err(unknown) = read {
            found.expression = None;
            draft.fails(value.line, format!("`if: {text}` is not mapped (`{unknown}`)"));
        }
        found
    }

    /// Adds a part that must be true; functions about what happened before say when the step runs.
    fn add(&mut self, node: &Node, scope: &Scope) -> Result<(), String> {
        match node {
            Node::And(nodes) => {
                // All parts are read, so that `when` is right where another part is unknown.
                let parts: Vec<_> = nodes.iter().map(|node| self.add(node, scope)).collect();
                return parts.into_iter().collect();
            }
            Node::Bool(true) => {}
            node => match (status_function(node), node) {
                (Some("success"), _) => {}
                (Some("always"), _) => self.when = When::Always,
                (Some("failure"), _) => self.when = When::Failure,
                (Some("cancelled"), _) => self.when = When::Never,
                (None, Node::Not(inner)) if status_function(inner) == Some("cancelled") => {
                    self.when = When::Always;
                }
                (None, Node::Or(nodes)) if is_any_end(nodes) => self.when = When::Always,
                _ => {
                    let part = operand_of_and(node, scope)?;
                    self.expression = Some(match self.expression.take() {
                        Some(before) => format!("{before} and {part}"),
                        None => part,
                    });
                }
            },
        }
        Ok(())
    }
}

/// The function about what happened before that a node calls.
fn status_function(node: &Node) -> Option<&str> {
    let known = ["success", "always", "failure", "cancelled"];
    match node {
        Node::Call(name, arguments) if arguments.is_empty() && known.contains(&name.as_str()) => {
            Some(name)
        }
        _ => None,
    }
}

/// `success() || failure()`
fn is_any_end(nodes: &[Node]) -> bool {
    let calls: Vec<Option<&str>> = nodes.iter().map(status_function).collect();
    calls.iter().all(Option::is_some)
        && calls.contains(&Some("success"))
        && calls.contains(&Some("failure"))
}
