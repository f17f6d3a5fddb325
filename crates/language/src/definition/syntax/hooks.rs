//! Takes the steps of `hooks:` out of the tree of a definition, so that they are declared and decoded
//! with the other steps.

use super::{Decoder, Node, Unread, Value};
use crate::definition::keys::KeyType::Steps;
use crate::definition::keys::{Choice, keys};
use crate::definition::model::{Hook, HookEvent};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::StepId;

keys! {
    /// Steps that follow an event of the run or of a step.
    struct HookKeys(): HOOKS = ("hooks", "`hooks`") {
        /// Steps that start with the run or the step.
        _start: Unread = "onStart" as Steps, example("[{id: begin, run: ./begin.sh}]");
        /// Steps that follow its success.
        _success: Unread = "onSuccess" as Steps, example("[{id: report, run: ./report.sh}]");
        /// Steps that follow its failure.
        _failure: Unread = "onFailure" as Steps, example("[{id: report, run: ./report.sh}]");
        /// Steps that follow its cancellation.
        _cancel: Unread = "onCancel" as Steps, example("[{id: undo, run: ./undo.sh}]");
    }
}

/// One step of `hooks`, not decoded yet.
pub(crate) struct HookNode {
    pub(crate) hook: Hook,
    pub(crate) node: Node,
}

/// Takes the hooks of the run and of every step; the empty lists stay in the tree.
pub(crate) fn take(root: &mut Node) -> Vec<HookNode> {
    let mut found = Vec::new();
    of(root, None, &mut found);
    for list in ["steps", "finally"] {
        let Some(Value::Seq(steps)) = root.value_mut(list) else { continue };
        for step in steps {
            let id = step.get("id").and_then(Node::as_text).and_then(|id| StepId::new(id).ok());
            // A step without an id is reported by its decoder.
            if id.is_some() {
                of(step, id, &mut found);
            }
        }
    }
    found
}

fn of(node: &mut Node, step: Option<StepId>, found: &mut Vec<HookNode>) {
    let Some(Value::Map(lists)) = node.value_mut("hooks") else { return };
    for (key, list) in lists {
        let same = |name: &str| *key.text == *name || *key.text == *snake_case(name);
        let events = HookEvent::CHOICES.iter();
        let Some((_, on)) = events.copied().find(|(name, _)| same(name)) else { continue };
        if let Value::Seq(items) = &mut list.value {
            let hook = || Hook { of: step.clone(), on };
            found.extend(items.drain(..).map(|node| HookNode { hook: hook(), node }));
        }
    }
}

fn snake_case(key: &str) -> String {
    let lower =
        |c: char| if c.is_ascii_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] };
    key.chars().flat_map(lower).collect()
}

impl Decoder {
    /// Checks a `hooks:` map whose steps were taken. What is left is no list, or stands where hooks have
    /// no effect.
    pub(crate) fn hooks(&mut self, node: &Node) {
        let Some(fields) = self.fields(node, &HOOKS) else { return };
        for (spec, _, node) in fields.iter() {
            let Some(items) = node.as_seq() else {
                self.wrong_type(node, spec.name, "a list of steps");
                continue;
            };
            if let Some(first) = items.first() {
                let message = "a step of `hooks` cannot have `hooks`, and neither can `defaults`";
                self.push(
                    Diagnostic::error(Code::MISPLACED_KEY, first.span, message)
                        .help("move these steps to the hooks of the step that they are about"),
                );
            }
        }
    }
}
