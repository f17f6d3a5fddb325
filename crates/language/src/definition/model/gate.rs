//! `verify:`, the gate of a step, and its policies. `gate_check` has the checks.

use crate::definition::gate_check::Check;
use crate::definition::gate_check::JudgeCheck;
use crate::definition::keys::choices;
use kb_base::value::Verdict;

/// `verify:`: the gate that decides whether a step counts as done.
#[derive(Debug, Clone)]
pub struct Verify {
    /// Whether the claims of the output are compared with the evidence.
    pub claims: ClaimPolicy,
    /// Whether a step without file changes makes the gate inconclusive. `None`: only if the
    /// specialist has a writing tool.
    pub expect_changes: Option<bool>,
    /// Keys of the output that comment on the work: what no check reads there does not lower the verdict.
    pub commentary: Vec<String>,
    /// The checks, in the order of the file.
    pub checks: Vec<Check>,
    /// What follows a `failed` verdict. `None`: `rework` for specialists without `recovery`, else
    /// `fail`.
    pub on_failed: Option<FailurePolicy>,
    /// What follows a verdict that is neither `passed` nor `failed`.
    pub undecided: Undecided,
    /// Maximum number of attempts that `onFailed` starts. Default: 2.
    pub max_reworks: u32,
}

impl Verify {
    /// Adds a `judge` check with the thresholds of the settings, if there is none.
    pub(in crate::definition) fn add_judge(&mut self) {
        if !self.checks.iter().any(|check| matches!(check, Check::Judge(_))) {
            self.checks.push(Check::Judge(JudgeCheck::default()));
        }
    }
}

choices! {
    /// `claims:`: how strictly claims are compared with evidence.
    pub enum ClaimPolicy {
        /// A refuted claim fails the gate. The default of specialist steps.
        Strict = "strict",
        /// A refuted claim is reported; the gate can still pass.
        Warn = "warn",
        /// Claims are not checked. The default of other steps.
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
