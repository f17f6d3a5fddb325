//! The versions of the rules for claims.

use serde::{Deserialize, Serialize};

/// The rules that a verdict is computed with. A recorded verdict is recomputed with the rules of its
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum VerdictRules {
    /// Only file claims are checked; versions up to 0.1.
    #[default]
    FileClaims,
    /// Claims about commands and test results are checked too.
    AllClaims,
    /// Claims about tool calls, texts before a change, numbers of tests and files in summaries are
    /// checked too.
    ToolCalls,
    /// Test runs whose exit code is hidden are repeated, a run of no test refutes, and definite
    /// statements of a summary are claims.
    Statements,
    /// Options and variables with which a test command succeeds whatever its tests do prove nothing.
    TestOptions,
    /// A statement that nothing else was changed is compared with all recorded changes, and a folder
    /// whose files existed before the step was not created.
    Omissions,
}

impl VerdictRules {
    /// The rules of new verdicts.
    pub const CURRENT: VerdictRules = VerdictRules::Omissions;
}
