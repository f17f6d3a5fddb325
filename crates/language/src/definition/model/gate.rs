//! `verify:`, the gate of a step, and its policies. `gate_check` has the checks.

use super::judge::JudgeCheck;
use crate::definition::gate_check::Check;

/// `verify:`: the gate that decides whether a step counts as done.
#[derive(Debug, Clone)]
pub struct Verify {
    /// Whether the claims of the output are compared with the evidence.
    pub claims: ClaimPolicy,
    /// Whether a step without file changes makes the gate inconclusive. `None`: only if the
    /// specialist has a writing tool.
    pub expect_changes: Option<bool>,
    /// The checks, in the order of the file.
    pub checks: Vec<Check>,
    /// What follows a `failed` verdict. `None`: `rework` for specialists without `recovery`, else
    /// `fail`.
    pub on_failed: Option<FailurePolicy>,
    /// What follows an `inconclusive` verdict. `None`: the policy of the settings, else `warn`.
    pub on_inconclusive: Option<InconclusivePolicy>,
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

/// `onInconclusive:`: what follows an `inconclusive` verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InconclusivePolicy {
    /// The verdict is reported; the step succeeds.
    Warn,
    /// The step fails as if the gate had failed.
    Fail,
    /// A person decides whether another attempt follows.
    AskUser,
}
