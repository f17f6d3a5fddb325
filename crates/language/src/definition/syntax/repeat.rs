//! Decodes `loop:`.

use super::verify::{about_work, default_verify};
use super::{Decoder, Fields, Node};
use crate::definition::gate_check::{CHECK, checks};
use crate::definition::keys::KeyType::{Expression, Integer, List, Map, OneOf};
use crate::definition::keys::keys;
use crate::definition::kind::Kind;
use crate::definition::model::{
    Backoff, Delays, FailurePolicy, InconclusivePolicy, Loop, Until, Verify,
};
use kb_base::diagnostic::{Code, Diagnostic};
use std::time::Duration;

keys! {
    /// Passes of a step.
    struct LoopKeys(): LOOP = ("loop", "`loop`") {
        /// The loop ends when this is true after a successful pass, or when these checks pass.
        until: Until = "until" as OneOf(const { &[Expression, List(const { &Map(&CHECK) })] }) => until, required,
            example("\"{{review.output.done}}\"");
        /// Maximum number of passes.
        max: u32 = "max" as Integer(1, 1000), default("10");
        /// How the delay grows from one pass to the next.
        backoff: Option<Backoff> = "backoff", default("fixed");
        /// Delay before the second pass.
        initial: Option<Duration> = "initial", default("none; 1s with `backoff`");
        /// Maximum delay.
        max_delay: Duration = "maxDelay", default("60s");
    }
}

fn until(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Until> {
    match node.as_seq() {
        Some(_) => Some(Until::Checks),
        None => decoder.expression(node, key).map(Until::Expression),
    }
}

/// Decodes `loop:`.
pub(super) fn repeat(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Loop> {
    if node.as_map().is_none() {
        let message = format!("`loop` takes a map, found {}", node.kind());
        let help = "write `loop: {until: \"{{step.output.done}}\", max: 5}`";
        decoder.push(Diagnostic::error(Code::WRONG_TYPE, node.span, message).help(help));
        return None;
    }
    let found = LoopKeys::from_node(node, decoder)?;
    let initial = found.initial.or(found.backoff.map(|_| Duration::from_secs(1)));
    let delays = Delays {
        backoff: found.backoff.unwrap_or(Backoff::Fixed),
        initial: initial.unwrap_or_default(),
        max_delay: found.max_delay,
    };
    Some(Loop { until: found.until, max: found.max, delays })
}

impl Decoder {
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
        let checks = checks(node, "until", self);
        about_work(node, specialist, self);
        Some(Verify {
            checks,
            on_failed: Some(FailurePolicy::Warn),
            on_inconclusive: Some(InconclusivePolicy::Warn),
            on_unchecked: Some(InconclusivePolicy::Warn),
            ..default_verify(specialist)
        })
    }
}

/// The checks in `loop.until` of a step.
pub(super) fn checks_of_loop<'n>(step: &Fields<'n>) -> Option<&'n Node> {
    step.get("loop")?.get("until").filter(|node| node.as_seq().is_some())
}
