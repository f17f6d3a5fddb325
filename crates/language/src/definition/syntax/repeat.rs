//! Decodes `loop:`.

use super::verify::{default_verify, work_checks};
use super::{Decoder, Fields, Node};
use crate::definition::keys::step_parts;
use crate::definition::kind::Kind;
use crate::definition::model::{
    Backoff, FailurePolicy, InconclusivePolicy, Loop, Undecided, Until, Verify,
};
use kb_base::diagnostic::{Code, Diagnostic};
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
        let until = self.required(&fields, "until").and_then(|node| match node.as_seq() {
            Some(_) => Some(Until::Checks),
            None => self.expression(node, "until").map(Until::Expression),
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

    /// The gate that `loop: {until: [checks]}` of a step stands for; `None` if it has no checks there.
    /// A verdict that is not `passed` starts the next pass.
    pub(super) fn loop_gate(&mut self, step: &Fields<'_>, kind: Option<Kind>) -> Option<Verify> {
        let node = checks_of_loop(step)?;
        let specialist = kind.is_some_and(|kind| kind.rules.is_specialist);
        let refused = if kind.is_some_and(|kind| kind.key == "gate") {
            let help = "its own checks decide: `retry: {max: 5, on: [gate_failed]}` repeats them";
            Some(("`until` of a `gate` step takes an expression, found a list of checks", help))
        } else if step.get("verify").is_some() {
            let help = "keep the checks in `verify: {checks: [...], onFailed: warn}`, and write \
                        `until: \"{{ID.verdict}} == 'passed'\"`";
            Some(("a step has either `verify` or checks in `loop.until`", help))
        } else {
            None
        };
        if let Some((message, help)) = refused {
            self.push(Diagnostic::error(Code::MISPLACED_KEY, node.span, message).help(help));
        }
        Some(Verify {
            checks: work_checks(node, "until", specialist, self),
            on_failed: Some(FailurePolicy::Warn),
            undecided: Undecided {
                inconclusive: Some(InconclusivePolicy::Warn),
                unchecked: Some(InconclusivePolicy::Warn),
            },
            ..default_verify(specialist)
        })
    }
}

/// The checks in `loop.until` of a step.
pub(super) fn checks_of_loop<'n>(step: &Fields<'n>) -> Option<&'n Node> {
    step.get("loop")?.get("until").filter(|node| node.as_seq().is_some())
}
