//! `verify:`, the gate of a step, and its policies. `gate_check` has the checks.

use super::judge::JudgeCheck;
use crate::definition::gate_check::Check;
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

/// `claims:`: how strictly claims are compared with evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimPolicy {
    /// A refuted claim fails the gate. The default of specialist steps.
    Strict,
    /// A refuted claim is reported; the gate can still pass.
    Warn,
    /// Claims are not checked. The default of other steps.
    None,
}

/// `onFailed:`: what follows a `failed` verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// Another attempt by the same specialist, with the evidence of what failed.
    Rework,
    /// Another attempt with the same work.
    Retry,
    /// Another attempt with the next tier of the specialist's ladder.
    EscalateModel,
    /// The verdict is reported; the step succeeds.
    Warn,
    /// The step fails without another attempt.
    Fail,
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

/// `onInconclusive:` and `onUnchecked:`: what follows such a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InconclusivePolicy {
    /// The verdict is reported; the step succeeds.
    Warn,
    /// The step fails as if the gate had failed.
    Fail,
    /// A person decides whether another attempt follows.
    AskUser,
}
