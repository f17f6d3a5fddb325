//! What expressions of GitHub Actions can refer to: steps and jobs that were read before.

use super::draft::reference;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// What an expression may refer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// The steps of the job so far, by their `id`.
    pub(super) steps: BTreeMap<String, KnownStep>,
    /// The jobs that were read before.
    pub(super) jobs: BTreeMap<String, KnownJob>,
    /// The values of the axes of the matrix of the job.
    pub(super) axes: BTreeMap<String, Vec<String>>,
    /// Those that some combinations do not have.
    pub(super) optional_axes: BTreeSet<String>,
    /// The variables that `env` of the workflow, the job or the step sets.
    pub(super) env: BTreeSet<String>,
    /// The secrets that were referred to.
    pub(super) secrets: RefCell<BTreeSet<String>>,
    /// Whether what is read runs also if steps before it failed.
    pub(super) after_failure: bool,
}

/// A step that has an `id`.
#[derive(Debug, Clone)]
pub(super) struct KnownStep {
    /// Its id in the playbook.
    pub(super) id: String,
    /// Its shell text, if that writes outputs which can be read.
    pub(super) writes: Option<String>,
    /// Whether it keeps them if it fails (`continue-on-error`): it succeeds, and a line of its output says it.
    pub(super) keeps: bool,
}

/// An output of a job, as expressions.
#[derive(Debug, Clone)]
pub(super) struct JobOutput {
    /// For what runs only if no step failed.
    pub(super) usual: String,
    /// For what runs also then.
    pub(super) after_failure: String,
}

/// What expressions of later jobs can read of a job.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownJob {
    /// The steps that a job after it waits for.
    pub(super) ends: Vec<String>,
    /// These, and the steps of jobs before it that `success()` and `failure()` of a job after it count too.
    pub(super) counted: Vec<String>,
    /// Its first step, if it needs other jobs: it is blocked if the job does not start because one of them failed.
    pub(super) first: Option<String>,
    /// Its outputs as expressions, or what in them has no counterpart.
    pub(super) outputs: BTreeMap<String, Result<JobOutput, String>>,
    /// The step that executes another workflow in its place; its outputs are those of that playbook.
    pub(super) child: Option<String>,
}

/// The condition that all of these steps have a status.
pub(super) fn all_are(steps: &[String], status: &str) -> String {
    let all: Vec<String> =
        steps.iter().map(|step| format!("{}.status == '{status}'", reference(step))).collect();
    if all.is_empty() { "true".to_owned() } else { all.join(" and ") }
}

/// The condition that one of these steps failed or could not run because another one did.
pub(super) fn any_failed(steps: &[String]) -> String {
    let failed = |step: &String| format!("{}.status in ['failed', 'blocked']", reference(step));
    let all: Vec<String> = steps.iter().map(failed).collect();
    if all.is_empty() { "false".to_owned() } else { all.join(" or ") }
}
