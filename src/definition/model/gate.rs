use crate::definition::Schema;
use crate::expression::{Expression, Template};

/// `verify:` — what must hold before the step counts as done (LANGUAGE §6).
#[derive(Debug, Clone)]
pub struct Verify {
    /// Whether the output's claims are reconciled with the evidence.
    pub claims: ClaimPolicy,
    /// Whether no change at all is suspicious; `None`: where the specialist has a writing tool.
    pub expect_changes: Option<bool>,
    /// The checks in order.
    pub checks: Vec<Check>,
    /// What a `failed` verdict does.
    pub on_failed: FailurePolicy,
    /// What an `inconclusive` verdict does; `None`: the settings' policy, else warn.
    pub on_inconclusive: Option<InconclusivePolicy>,
    /// How often `onFailed: rework` or `retry` may happen.
    pub max_reworks: u32,
}

/// How strictly claims are held against evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimPolicy {
    /// A refuted claim fails the gate. The default on specialist steps.
    Strict,
    /// A refuted claim is listed and lets the gate pass.
    Warn,
    /// Not looked at. The default elsewhere.
    None,
}

/// `onFailed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The same specialist again, with the evidence of what failed.
    Rework,
    /// The same work again.
    Retry,
    /// The next stronger model. Loads; not built yet.
    EscalateModel,
    /// The verdict is reported; the step succeeds.
    Warn,
    /// The step fails.
    Fail,
}

/// `onInconclusive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InconclusivePolicy {
    /// The verdict is reported; the step succeeds.
    Warn,
    /// The step fails.
    Fail,
    /// A person decides. Loads; not built yet.
    AskUser,
}

/// One check.
#[derive(Debug, Clone)]
pub enum Check {
    /// The step's output fits this schema.
    Schema(Schema),
    /// Files that must be there.
    File {
        /// A path or glob inside the workspace; may hold placeholders.
        path: Template,
        /// How many files must match at least; 1 unless said.
        min_count: u32,
        /// What must be found in each or all of them.
        count: Option<FileCount>,
        /// Whether at least one match must have been changed by this step, by the evidence.
        changed: Option<bool>,
        /// Whether the path must be absent instead.
        absent: bool,
    },
    /// A process that must exit with 0.
    Command {
        /// The argv; each word may hold placeholders, the first may not.
        argv: Vec<Template>,
        /// Globs of files that decide and that the step must not change.
        inputs: Vec<String>,
        /// Whether the command must fail on the state before the step. Loads; not built yet.
        must_fail_before: bool,
        /// The most it may take; the step's timeout holds over it.
        timeout: Option<std::time::Duration>,
    },
    /// An expression that must be true.
    Expr(Expression),
    /// `diff` and `judge`: known, not built yet. Running such a gate is `inconclusive`.
    NotYet(&'static str),
}

/// How often a pattern must occur over all matched files together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCount {
    /// A regular expression (the `regex` crate's syntax), checked at load.
    pub pattern: String,
    /// At least this often.
    pub min: u32,
    /// At most this often.
    pub max: Option<u32>,
}
