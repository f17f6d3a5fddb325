//! `verify:`, the gate of a step, and its policies. `gate_check` has the checks.

use crate::definition::gate_check::{CHECK, Check, JudgeCheck, checks};
use crate::definition::keys::KeyType::{Integer, List, Map, Text};
use crate::definition::keys::{choices, keys};
use crate::definition::syntax::{Decoder, Node};
use kb_base::value::Verdict;

keys! {
    /// The gate of a step.
    pub struct Verify(Debug, Clone): VERIFY = ("verify", "`verify`") {
        /// How strictly claims in the output are compared with the evidence.
        claims: ClaimPolicy = "claims" => claims, default("`strict` for specialists, else `none`");
        /// Whether the step is there to change files: no claim and no change then fails the gate.
        expect_changes: Option<bool> = "expectChanges", default("`true` for specialists with a writing tool");
        /// Keys of the output whose texts comment on the work: what no check reads there leaves the verdict as it is.
        commentary: Vec<String> = "commentary" as List(&Text), example("[summary]");
        /// The checks, in order.
        checks: Vec<Check> = "checks" as List(const { &Map(&CHECK) }) => checks, example("[{file: out.txt}]");
        /// What follows a `failed` verdict.
        on_failed: Option<FailurePolicy> = "onFailed", default("`rework` for specialists, else `fail`");
        /// What follows an `inconclusive` verdict.
        on_inconclusive: Option<InconclusivePolicy> = "onInconclusive",
            default("`verifier.inconclusivePolicy` of the settings, else `warn`");
        /// What follows an `unchecked` verdict.
        on_unchecked: Option<InconclusivePolicy> = "onUnchecked",
            default("`verifier.uncheckedPolicy` of the settings, else `warn`");
        /// Maximum number of reworks or retries that `onFailed` starts.
        max_reworks: u32 = "maxReworks" as Integer(0, 100), default("2");
    }
}

fn claims(node: &Node, key: &str, decoder: &mut Decoder) -> ClaimPolicy {
    decoder.choice(node, key).unwrap_or_default()
}

impl Verify {
    /// What follows a verdict that does not decide.
    pub fn undecided(&self) -> Undecided {
        Undecided { inconclusive: self.on_inconclusive, unchecked: self.on_unchecked }
    }

    /// Adds a `judge` check with the thresholds of the settings, if there is none.
    pub(in crate::definition) fn add_judge(&mut self) {
        if !self.checks.iter().any(|check| matches!(check, Check::Judge(_))) {
            self.checks.push(Check::Judge(JudgeCheck::default()));
        }
    }
}

choices! {
    /// `claims:`: how strictly claims are compared with evidence.
    #[derive(Default)]
    pub enum ClaimPolicy {
        /// A refuted claim fails the gate. The default of specialist steps.
        Strict = "strict",
        /// A refuted claim is reported; the gate can still pass.
        Warn = "warn",
        /// Claims are not checked. The default of other steps.
        #[default]
        None = "none",
    }

    /// `onFailed:`: what follows a `failed` verdict.
    pub enum FailurePolicy {
        /// Another attempt by the same specialist, with the evidence of what failed.
        Rework = "rework",
        /// Another attempt with the same work.
        Retry = "retry",
        /// Another attempt with the next tier of the specialist's ladder.
        EscalateModel = "escalateModel",
        /// The verdict is reported; the step succeeds.
        Warn = "warn",
        /// The step fails without another attempt.
        Fail = "fail",
    }
}

/// What follows each verdict that is neither `passed` nor `failed`, as one level states it: a step, or
/// the settings. `None`: the level above decides, else `warn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Undecided {
    /// `onInconclusive`, `verifier.inconclusivePolicy`.
    pub inconclusive: Option<InconclusivePolicy>,
    /// `onUnchecked`, `verifier.uncheckedPolicy`.
    pub unchecked: Option<InconclusivePolicy>,
}

impl Undecided {
    /// The policies of this level, and of the level above where this one states none.
    pub fn or(self, above: Undecided) -> Undecided {
        Undecided {
            inconclusive: self.inconclusive.or(above.inconclusive),
            unchecked: self.unchecked.or(above.unchecked),
        }
    }

    /// The policy for a verdict; `None` if it decides.
    pub fn policy(self, verdict: Verdict) -> Option<InconclusivePolicy> {
        let stated = match verdict {
            Verdict::Passed | Verdict::Failed => return None,
            Verdict::Inconclusive => self.inconclusive,
            Verdict::Unchecked => self.unchecked,
        };
        Some(stated.unwrap_or(InconclusivePolicy::Warn))
    }
}

choices! {
    /// `onInconclusive:` and `onUnchecked:`: what follows such a verdict.
    pub enum InconclusivePolicy {
        /// The verdict is reported; the step succeeds.
        Warn = "warn",
        /// The step fails as if the gate had failed.
        Fail = "fail",
        /// A person decides whether another attempt follows.
        AskUser = "askUser",
    }
}
