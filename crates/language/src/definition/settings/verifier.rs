//! `verifier`: defaults of gates.

use crate::definition::gate_check::JudgeCheck;
use crate::definition::keys::KeyType::{self, Any, Choice, Integer, Map, OneOf};
use crate::definition::keys::choice_tables::{INCONCLUSIVE_ACTION, INCONCLUSIVE_ACTION_NAMES};
use crate::definition::keys::{KeySpec, key, settings};
use crate::definition::model::InconclusivePolicy;
use crate::definition::syntax::{Decoder, Node};
use kb_base::diagnostic::{Code, Diagnostic};

settings! {
    /// Gates.
    pub struct VerifierSettings(Debug, Clone, PartialEq): VERIFIER = ("verifier", "`verifier`") {
        /// Default for `onInconclusive`. `retry` and `escalate` are refused: they are rows of `recovery` of a step.
        [inner] inconclusive: InconclusiveSettings = "inconclusivePolicy" as INCONCLUSIVE_VALUE => inconclusive_policy,
            default("warn"), example("fail");
        /// Defaults of `judge` checks.
        [own] judge: JudgeCheck = "judge", example("{minConfidence: 0.5}");
        /// Whether every specialist step has a `judge` check.
        [own] judge_every_answer: bool = "judgeEveryAnswer", default("false");
        /// Whether a command exits with code 1 if its run succeeded with a step whose gate did not pass, as with `--strict`.
        [either] strict: bool = "strict", default("false");
        /// Default for `onUnchecked`.
        [own] unchecked: Option<InconclusivePolicy> = "uncheckedPolicy", default("warn");
    }

    /// What follows an `inconclusive` verdict.
    pub struct InconclusiveSettings(Debug, Clone, Copy, PartialEq, Eq): INCONCLUSIVE = ("inconclusivePolicy", "`inconclusivePolicy`", also ESCALATE_TO) {
        /// What follows an `inconclusive` verdict.
        [own] action: Option<InconclusivePolicy> = "action" as Choice(INCONCLUSIVE_ACTION_NAMES) => inconclusive,
            default("warn");
        /// The same as `action: fail`.
        [own] fail: bool = "failOnInconclusive", default("false");
        /// Whether probes of plugins that could not decide are repeated, a second apart.
        [own] retry: bool = "retryWithProbes", default("false");
        /// Maximum number of repetitions of a probe.
        [own] max_retries: u32 = "maxRetries" as Integer(0, 100), default("1");
    }
}

const ESCALATE_TO: &[KeySpec] =
    &[key("escalateTo", Any, "Whom `escalate` would ask.").example("orchestrator").planned()];

const INCONCLUSIVE_VALUE: KeyType =
    OneOf(const { &[Choice(INCONCLUSIVE_ACTION_NAMES), Map(&INCONCLUSIVE)] });

impl InconclusiveSettings {
    /// How often a probe that could not decide is repeated.
    pub fn probe_retries(&self) -> u32 {
        if self.retry { self.max_retries } else { 0 }
    }
}

/// Decodes `inconclusivePolicy`: a map, or its `action` alone.
fn inconclusive_policy(node: &Node, _: &str, decoder: &mut Decoder) -> InconclusiveSettings {
    if node.as_map().is_none() {
        let action = inconclusive(node, "action", decoder);
        return InconclusiveSettings { action, ..Default::default() };
    }
    let mut found = InconclusiveSettings::from_node(node, decoder).unwrap_or_default();
    if found.fail {
        found.action = Some(InconclusivePolicy::Fail);
    }
    found
}

fn inconclusive(node: &Node, _: &str, decoder: &mut Decoder) -> Option<InconclusivePolicy> {
    let policy = decoder.one_of(node, "action", INCONCLUSIVE_ACTION)?;
    if policy.is_none() {
        let action = node.as_text().unwrap_or_default();
        let row = if action == "retry" { "retry" } else { "escalateModel" };
        let message = format!("the steps decide what `{action}` means, not the settings");
        let help = format!(
            "write `fail` here and `recovery: [{{on: [gate_inconclusive], do: {row}}}]` in the steps; with `askUser` a \
             person decides"
        );
        decoder.push(Diagnostic::error(Code::MISPLACED_KEY, node.span, message).help(help));
    }
    policy
}
