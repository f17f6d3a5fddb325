//! `verify:` and the checks of a gate.

use crate::definition::Schema;
use crate::expression::{Expression, Reference, Template};

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
    /// The step fails.
    Fail,
}

/// `onInconclusive:`: what follows an `inconclusive` verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InconclusivePolicy {
    /// The verdict is reported; the step succeeds.
    Warn,
    /// The step fails.
    Fail,
    /// A person decides whether another attempt follows.
    AskUser,
}

/// One check of a gate.
#[derive(Debug, Clone)]
pub enum Check {
    /// The output of the step satisfies this schema.
    Schema(Schema),
    /// Files that must exist.
    File {
        /// Path or glob inside the workspace; placeholders allowed.
        path: Template,
        /// Minimum number of matching files. Default: 1.
        min_count: u32,
        /// A pattern that the matching files must contain.
        count: Option<FileCount>,
        /// Whether the evidence must show that this step changed at least one matching file.
        changed: Option<bool>,
        /// Whether the path must not exist.
        absent: bool,
    },
    /// A command that must exit with status 0.
    Command {
        /// Program and arguments; placeholders are allowed in the arguments.
        argv: Vec<Template>,
        /// Globs of files that decide the result and that the step must not change.
        inputs: Vec<String>,
        /// Whether the command must fail on the files as they were before the step. Loads, but a
        /// run with it is refused.
        must_fail_before: bool,
        /// Time limit of the command; the timeout of the step applies as well.
        timeout: Option<std::time::Duration>,
    },
    /// An expression that must be true.
    Expr(Expression),
    /// `diff` or `judge`, which are not supported yet. A gate with such a check is inconclusive.
    NotYet(&'static str),
}

impl Check {
    /// The key that names the kind of the check, such as `file`.
    pub fn name(&self) -> &'static str {
        match self {
            Check::Schema(_) => "schema",
            Check::File { .. } => "file",
            Check::Command { .. } => "command",
            Check::Expr(_) => "expr",
            Check::NotYet(name) => name,
        }
    }

    /// The texts of the check, each with the references that it reads.
    pub fn references(&self) -> Vec<Vec<&Reference>> {
        match self {
            Check::Schema(_) | Check::NotYet(_) => Vec::new(),
            Check::File { path, .. } => vec![path.references().collect()],
            Check::Command { argv, .. } => {
                argv.iter().map(|word| word.references().collect()).collect()
            }
            Check::Expr(expression) => vec![expression.references().iter().collect()],
        }
    }

    /// Whether the verdict depends on the recorded file changes of the step.
    pub fn reads_changes(&self) -> bool {
        match self {
            Check::File { changed, .. } => changed.is_some(),
            Check::Command { .. } => true,
            Check::Schema(_) | Check::Expr(_) | Check::NotYet(_) => false,
        }
    }
}

/// `count:` of a `file` check: how often a pattern must occur in all matching files together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCount {
    /// A regular expression in the syntax of the `regex` crate.
    pub pattern: String,
    /// Minimum number of matches.
    pub min: u32,
    /// Maximum number of matches.
    pub max: Option<u32>,
}
