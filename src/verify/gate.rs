use crate::definition::{ClaimPolicy, FileCount, Schema};
use crate::evidence::Invocation;
use crate::value::{Failure, Json};
use std::sync::Arc;
use std::time::Duration;

/// One gate, with every value in place.
#[derive(Debug, Clone)]
pub struct Gate {
    /// Its checks, in order.
    pub criteria: Vec<Criterion>,
    /// How strictly the output's claims are held against the evidence.
    pub claims: ClaimPolicy,
    /// Whether no change at all is suspicious.
    pub expect_changes: bool,
    /// What the step handed out.
    pub output: Arc<Json>,
    /// What it had to look like.
    pub output_schema: Option<Schema>,
    /// What the runtime recorded over all attempts of this iteration, in order.
    pub trace: Vec<Invocation>,
    /// Where the workspace is, so that absolute paths of a claim can be told.
    pub root: String,
}

/// One check, with every value in place.
#[derive(Debug, Clone)]
pub enum Criterion {
    /// The output fits this schema.
    Schema(Schema),
    /// Files that must be there, or must not.
    Files(FileCriterion),
    /// A process that must exit with 0.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Globs of files that decide and that the step must not change.
        inputs: Vec<String>,
        /// Whether it had to fail before the step.
        must_fail_before: bool,
        /// The most it may take.
        timeout: Option<Duration>,
    },
    /// An expression that must be true, with what it gave.
    Expression {
        /// As written.
        source: String,
        /// What it gave.
        truth: Result<bool, Failure>,
    },
    /// A check whose own values could not be found.
    Unresolved {
        /// Which, for people.
        check: String,
        /// Why.
        failure: Failure,
    },
    /// A check that the language knows and this version does not carry out.
    NotYet(&'static str),
}

/// What a `file` check asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCriterion {
    /// A path or glob.
    pub pattern: String,
    /// How many files must match at least.
    pub min_count: u32,
    /// What must be found in all of them together.
    pub count: Option<FileCount>,
    /// Whether the step must have changed one of them, or none.
    pub changed: Option<bool>,
    /// Whether nothing may match.
    pub absent: bool,
}
