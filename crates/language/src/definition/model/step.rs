//! The model of a step: its kind, its dependencies and its attempt options.

use super::{
    Budget, Cache, ForEach, Hook, Loop, NotYet, OnError, RecoveryRule, RetryPolicy, StepSandbox,
    Timeout, Verify,
};
use crate::definition::Schema;
use crate::definition::gate_check::{Check, JudgeCheck};
use crate::definition::keys::choices;
use crate::definition::kind::StepKind;
use crate::expression::{Expression, Template, ValueTemplate};
use kb_base::diagnostic::Span;
use kb_base::value::StepId;

/// A checked step. The `defaults` of the playbook are already applied. Rarely used options are boxed,
/// because a plan can have many thousand steps.
#[derive(Debug, Clone)]
pub struct Step {
    /// Id, unique in its playbook.
    pub id: StepId,
    /// What the step does.
    pub kind: StepKind,
    /// Whether it is part of `steps` or of `finally`.
    pub phase: StepPhase,
    /// Explicit dependencies, including those of `order: sequential`, with their positions.
    pub depends_on: Box<[(StepId, Span)]>,
    /// `condition:`: the step is skipped if this is false.
    pub condition: Option<Expression>,
    /// `runIf:`: the join over its dependencies.
    pub run_if: RunIf,
    /// `onError:`: what a failure means for the run.
    pub on_error: OnError,
    /// `forEach:` or `matrix:`: one step instance per item.
    pub for_each: Option<Box<ForEach>>,
    /// The other options, if the step has any; read them with [`Step::details`].
    pub details: Option<Box<StepDetails>>,
    /// Position of the id.
    pub span: Span,
}

/// Options of a step that most steps do not set.
#[derive(Debug, Clone)]
pub struct StepDetails {
    /// Name for displays; the id if there is none.
    pub name: Option<Box<str>>,
    /// `input:`: structured input of specialists and tools.
    pub input: Option<ValueTemplate>,
    /// `verify:`: the gate after the step.
    pub verify: Option<Box<Verify>>,
    /// Time limits of one attempt.
    pub timeout: Timeout,
    /// `retry:`; `None`: no retries.
    pub retry: Option<RetryPolicy>,
    /// `recovery:`; `None`: the default table of specialists, no rows for other steps.
    pub recovery: Option<Box<[RecoveryRule]>>,
    /// `budget:` of the step, for all its attempts and items.
    pub budget: Option<Box<Budget>>,
    /// Maximum number of attempts in one iteration. `None`: the sum that the recovery table allows.
    pub max_attempts: Option<u32>,
    /// `cache:`: when the step takes its result from an earlier execution.
    pub cache: Option<Box<Cache>>,
    /// `loop:`: the step runs again until a condition holds.
    pub repeat: Option<Box<Loop>>,
    /// Whether the step may run again after a crash during an attempt. Default: true.
    pub retry_safe: bool,
    /// Environment variables of its processes; they override those of the playbook.
    pub env: Vec<(String, Template)>,
    /// Working directory, relative to the project root.
    pub cwd: Option<Template>,
    /// `output.schema`: schema that the output must satisfy.
    pub output_schema: Option<Schema>,
    /// Whether file changes of its processes are recorded. `None`: only if its checks need them.
    pub evidence: Option<EvidenceMode>,
    /// `sandbox`: when its commands run in the sandbox. `None`: as the settings say, else as with `auto`.
    pub sandbox: Option<StepSandbox>,
    /// Whether it takes the `workspace` lock. `None`: only if its specialist has a writing tool.
    pub workspace: Option<WorkspaceMode>,
    /// `merge`: how its changes reach the project. `None`: as the playbook says, else `patch`.
    pub merge: Option<MergePolicy>,
    /// `locks:` in order: the locks that it holds while it runs.
    pub locks: Vec<String>,
    /// The hook that the step belongs to, for a step of `hooks`.
    pub hook: Option<Box<Hook>>,
    /// Features used here that are not supported yet. A run is refused if there are any.
    pub not_yet: Vec<NotYet>,
}

static NO_DETAILS: StepDetails = StepDetails::NONE;

impl Step {
    /// The options, or the defaults if none is set.
    pub fn details(&self) -> &StepDetails {
        self.details.as_deref().unwrap_or(&NO_DETAILS)
    }

    /// `verify:`: the gate after the step.
    pub fn verify(&self) -> Option<&Verify> {
        self.details().verify.as_deref()
    }

    /// The checks of its gate: its own ones, or those of `verify`.
    pub fn checks(&self) -> &[Check] {
        let verify = self.verify().map_or(&[][..], |verify| verify.checks.as_slice());
        self.kind.checks().unwrap_or(verify)
    }

    /// The `judge` check of its gate.
    pub fn judge(&self) -> Option<&JudgeCheck> {
        self.checks().iter().find_map(|check| {
            let Check::Judge(judge) = check else { return None };
            Some(judge)
        })
    }

    /// The options for writing; creates them with defaults if none is set.
    pub fn details_mut(&mut self) -> &mut StepDetails {
        self.details.get_or_insert_with(|| Box::new(StepDetails::NONE))
    }
}

impl StepDetails {
    /// Whether the evidence of a pass of its loop counts for the next pass: with checks in `until`, the
    /// passes complete one work. Otherwise each pass is a work of its own.
    pub fn keeps_evidence_of_passes(&self) -> bool {
        self.repeat.as_ref().is_some_and(|repeat| matches!(repeat.until, super::Until::Checks))
    }

    /// The options of a step that sets none.
    pub const NONE: StepDetails = StepDetails {
        name: None,
        input: None,
        verify: None,
        timeout: Timeout { attempt: None, idle: None },
        retry: None,
        recovery: None,
        budget: None,
        max_attempts: None,
        cache: None,
        repeat: None,
        retry_safe: true,
        env: Vec::new(),
        cwd: None,
        output_schema: None,
        evidence: None,
        sandbox: None,
        workspace: None,
        merge: None,
        locks: Vec::new(),
        hook: None,
        not_yet: Vec::new(),
    };

    /// The options boxed, or `None` if all have their defaults.
    pub(crate) fn non_default(self) -> Option<Box<StepDetails>> {
        let StepDetails {
            name: None,
            input: None,
            verify: None,
            timeout: Timeout { attempt: None, idle: None },
            retry: None,
            recovery: None,
            budget: None,
            max_attempts: None,
            cache: None,
            repeat: None,
            retry_safe: true,
            env,
            cwd: None,
            output_schema: None,
            evidence: None,
            sandbox: None,
            workspace: None,
            merge: None,
            locks,
            hook: None,
            not_yet,
        } = &self
        else {
            return Some(Box::new(self));
        };
        (!env.is_empty() || !not_yet.is_empty() || !locks.is_empty()).then(|| Box::new(self))
    }
}

choices! {
    /// `runIf:`: the join over the dependencies that matter.
    #[derive(Default)]
    pub enum RunIf {
        /// Every dependency succeeded.
        #[default]
        AllSucceeded = "allSucceeded",
        /// No dependency failed; skipped ones do not matter.
        NoneFailed = "noneFailed",
        /// At least one dependency succeeded.
        AnySucceeded = "anySucceeded",
        /// All dependencies have ended, with any status.
        AllDone = "allDone",
    }

    /// `evidence:`: whether file changes of a step are recorded.
    pub enum EvidenceMode {
        /// Manifests are taken before and after its processes.
        Full = "full",
        /// No manifests are taken.
        None = "none",
    }

    /// `workspace:`: the files that a step reads and writes.
    pub enum WorkspaceMode {
        /// The project; the step takes the `workspace` lock and excludes other writing steps.
        Exclusive = "exclusive",
        /// The project; the step runs in parallel with other writing steps.
        Shared = "shared",
        /// A git worktree of its own.
        Worktree = "worktree",
        /// A copy of the project of its own.
        Copy = "copy",
    }

    /// `merge:`: how the changes of a step in a worktree or copy reach the project.
    #[derive(Default)]
    pub enum MergePolicy {
        /// The changes are written into the project, without a commit.
        #[default]
        Patch = "patch",
        /// The commits are rebased onto the current branch of the project.
        Rebase = "rebase",
        /// The changes stay where they are.
        None = "none",
    }
}

/// The worktree or copy that a step runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isolation {
    /// Whether it is a git worktree; else a copy.
    pub worktree: bool,
    /// How the changes reach the project.
    pub merge: MergePolicy,
}

/// The list that a step is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepPhase {
    /// Part of `steps`.
    #[default]
    Main,
    /// Part of `finally`: runs after `steps`, whatever their result.
    Finally,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_small() {
        assert!(size_of::<Step>() <= 120, "{}", size_of::<Step>());
    }
}
