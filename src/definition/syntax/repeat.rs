//! Decodes `loop:`.

use super::{Decoder, Node};
use crate::definition::keys::step_parts;
use crate::definition::model::{Backoff, Loop};
use crate::diagnostic::{Code, Diagnostic};
use std::time::Duration;

/// The number of passes when `max` is absent.
const MAX_PASSES: u32 = 10;

impl Decoder {
    /// Decodes `loop: {until, max, backoff, initial, maxDelay}`.
    pub(crate) fn repeat(&mut self, node: &Node) -> Option<Loop> {
        if node.as_map().is_none() {
            let message = format!("`loop` takes a map, found {}", node.kind());
            let help = "write `loop: {until: \"{{step.output.done}}\", max: 5}`";
            self.push(Diagnostic::error(Code::WRONG_TYPE, node.span, message).help(help));
            return None;
        }
        let fields = self.fields(node, &step_parts::LOOP)?;
        let until = self.required(&fields, "until").and_then(|node| {
            if node.as_seq().is_some() {
                let help = "put the checks into `verify: {checks: [...], onFailed: warn}` and write \
                            `until: \"{{step.verdict}} == 'passed'\"`";
                let message = "`until` takes an expression, found a list";
                self.push(Diagnostic::error(Code::WRONG_TYPE, node.span, message).help(help));
                return None;
            }
            self.expression(node, "until")
        });
        let max = fields.integer("max", self);
        let (backoff, initial, max_delay) = self.delays(&fields);
        let second = Duration::from_secs(1);
        let initial = initial.or(backoff.map(|_| second)).unwrap_or_default();
        Some(Loop {
            until: until?,
            max: max.unwrap_or(MAX_PASSES),
            backoff: backoff.unwrap_or(Backoff::Fixed),
            initial,
            max_delay: max_delay.unwrap_or(Duration::from_secs(60)),
        })
    }
}
