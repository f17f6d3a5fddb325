//! Which results of an earlier run a new run of an edited definition keeps, and why not the others.
//!
//! Pure: [`choose`] compares two versions of a definition, and the state in which the earlier run ended.
//! A result is kept if the step ended with success or was skipped, and nothing that it depends on
//! has changed: its definition, the definitions that it uses, the parameters it reads, the files it is
//! known to have read, and the steps before it. If only its gate has changed, the gate judges the result again.

use super::event::{InstanceIx, StepStatus};
use super::instance::Instance;
use super::state::State;
use crate::evidence::Verdict;
use kb_base::value::{Digest, JsonMap, OutcomeKind, StepId};
use kb_language::definition::{Check, Execution, KeyScope, MergePolicy, StepKind, step_key_scope};
use kb_language::definition::{StepPhase, StepTexts, TaskText};
use kb_language::expression::Root;
use kb_language::plan::{Plan, PlanStep, StepIx};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One version of a definition, with the values that its runs start with.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    /// The plan of this version of the definition.
    pub plan: &'a Plan,
    /// The steps as they are written.
    pub texts: &'a StepTexts,
    /// Parameter values; secrets are references.
    pub params: &'a JsonMap,
    /// Texts of task files, by path.
    pub task_files: &'a JsonMap,
    /// Digests of the content of all definition files, by path.
    pub files: &'a BTreeMap<String, Digest>,
}

/// The facts that the choice depends on.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    /// The version that the earlier run executed.
    pub before: Version<'a>,
    /// The version of the new run.
    pub now: Version<'a>,
    /// The state in which the earlier run is.
    pub state: &'a State,
    /// Of the steps of the earlier run: a file that the step read and that has changed since the run, or one whose
    /// change by it was undone.
    pub changed_files: &'a BTreeMap<StepIx, RerunReason>,
    /// Steps of the new version that run again on request.
    pub again: &'a BTreeSet<StepIx>,
}

/// What a new run does with a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// It keeps the result.
    Keep,
    /// It keeps the results of the items that succeeded, and runs the others.
    KeepItems,
    /// It takes the result of the last attempt, and its gate decides again. The step works only if the
    /// gate does not accept the result, or a step before it has another one.
    Verify(RerunReason),
    /// It runs the step.
    Again(RerunReason),
    /// It runs the `playbook` step, whose child run keeps what nothing changed for.
    Continue(RerunReason),
}

/// Why a step runs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RerunReason {
    /// It was requested.
    Requested,
    /// It is a `finally` step, which belongs to each run.
    Finally,
    /// The earlier version has no such step.
    New,
    /// It was skipped on request.
    NotSelected,
    /// It did not end with success.
    Unfinished(StepStatus),
    /// These keys of its definition changed.
    Definition(Vec<String>),
    /// The environment variables of the definition changed.
    Environment,
    /// A specialist that it uses changed.
    Specialist(String),
    /// The definition of its child run, or one that the child uses, changed.
    Child(String),
    /// The text of its task file changed.
    TaskFile(String),
    /// A parameter that it reads has another value.
    Parameter(String),
    /// It reads `run`, which is another run now.
    Run,
    /// Its change of a file was undone.
    Undone(String),
    /// A file that it read has changed since the earlier run.
    File(String),
    /// Some of its items succeeded in files of their own, and the changes did not reach the project.
    NotMerged,
    /// A step before it runs again.
    After(StepId),
}

impl fmt::Display for RerunReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RerunReason::Requested => f.write_str("requested"),
            RerunReason::Finally => f.write_str("a `finally` step"),
            RerunReason::New => f.write_str("new"),
            RerunReason::NotSelected => f.write_str("not selected in the earlier run"),
            RerunReason::Unfinished(StepStatus::Pending) => {
                f.write_str("not started in the earlier run")
            }
            RerunReason::Unfinished(status) => write!(f, "{status} in the earlier run"),
            RerunReason::Definition(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                write!(f, "{} changed", keys.join(", "))
            }
            RerunReason::Environment => f.write_str("`env` of the playbook changed"),
            RerunReason::Specialist(id) => write!(f, "the specialist `{id}` changed"),
            RerunReason::Child(id) => {
                write!(f, "the playbook `{id}` or a definition that it uses changed")
            }
            RerunReason::TaskFile(path) => write!(f, "`{path}` changed"),
            RerunReason::Parameter(name) => write!(f, "the parameter `{name}` changed"),
            RerunReason::Run => f.write_str("it reads `run`"),
            RerunReason::Undone(path) => write!(f, "its change of `{path}` was undone"),
            RerunReason::File(path) => write!(f, "it read `{path}`, which has changed since"),
            RerunReason::NotMerged => {
                f.write_str("its changes were not all merged in the earlier run")
            }
            RerunReason::After(step) => write!(f, "after `{step}`"),
        }
    }
}

/// Decides for each step of the new version, in plan order.
pub fn choose(facts: &Comparison<'_>) -> Vec<Choice> {
    let plan = facts.now.plan;
    let mut choices: Vec<Option<Choice>> = vec![None; plan.steps().len()];
    for ix in plan.order() {
        let before = || plan.dependencies(*ix).map(|dependency| dependency.on);
        let verifies = |on: &StepIx| matches!(choices[on.at()], Some(Choice::Verify(_)));
        let runs = |on: &StepIx| !verifies(on) && choices[on.at()] != Some(Choice::Keep);
        let why = |on: StepIx| RerunReason::After(plan.step(on).step.id.clone());
        let own = own_choice(facts, *ix);
        let takes = || {
            let steady = |on: StepIx| !verifies(&on) || reads_only_result(facts, *ix, on);
            takes_result(facts, *ix)
                && plan.step(*ix).step.for_each.is_none()
                && before().all(steady)
        };
        // The reason in the step itself says more than the one before it.
        choices[ix.at()] = Some(match (own, before().find(runs), before().find(verifies)) {
            (own @ Choice::Again(_), _, _) => own,
            (Choice::Continue(why), None, None) => Choice::Continue(why),
            (Choice::Continue(why), _, _) => Choice::Again(why),
            (_, Some(on), _) => Choice::Again(why(on)),
            (Choice::Verify(why), None, Some(_)) if takes() => Choice::Verify(why),
            (Choice::Keep, None, Some(on)) if takes() => Choice::Verify(why(on)),
            (_, None, Some(on)) => Choice::Again(why(on)),
            (own, None, None) => own,
        });
    }
    choices.into_iter().map(|choice| choice.unwrap_or(Choice::Again(RerunReason::New))).collect()
}

/// The choice without regard to the steps before it.
fn own_choice(facts: &Comparison<'_>, ix: StepIx) -> Choice {
    let (before, now) = (&facts.before, &facts.now);
    let planned = now.plan.step(ix);
    if facts.again.contains(&ix) {
        return Choice::Again(RerunReason::Requested);
    }
    if planned.step.phase == StepPhase::Finally {
        return Choice::Again(RerunReason::Finally);
    }
    let Some(old) = before.plan.find(planned.step.id.as_str()) else {
        return Choice::Again(RerunReason::New);
    };
    let was = before.plan.step(old);
    let again = |why: RerunReason| {
        if continues_child(was, planned) { Choice::Continue(why) } else { Choice::Again(why) }
    };
    let instance = facts.state.instance(InstanceIx(old.0));
    let finished = matches!(instance.status, StepStatus::Succeeded | StepStatus::Skipped);
    let succeeded = |ix: InstanceIx| facts.state.instance(ix).status == StepStatus::Succeeded;
    let some_items = instance.items().is_some_and(|items| items.all().any(succeeded));
    if instance.is_deselected() {
        return Choice::Again(RerunReason::NotSelected);
    }
    let refuted = refuted(facts.state, instance);
    if was.step.phase != planned.step.phase || !(finished || some_items || refuted) {
        return again(RerunReason::Unfinished(instance.status));
    }
    let ignored = match instance.status {
        StepStatus::Skipped => KeyScope::Name,
        StepStatus::Pending
        | StepStatus::Ready
        | StepStatus::Running
        | StepStatus::Verifying
        | StepStatus::Waiting
        | StepStatus::Succeeded
        | StepStatus::Failed
        | StepStatus::Blocked
        | StepStatus::Cancelled => KeyScope::Attempts,
    };
    let changed = |ignored| {
        changed_definition((before, was), (now, planned), ignored)
            .or_else(|| changed_value(before, now, planned))
            .or_else(|| facts.changed_files.get(&old).cloned())
    };
    match changed(ignored) {
        Some(why) => {
            let ran = instance.status != StepStatus::Skipped;
            let only_gate = ran && takes_result(facts, ix) && changed(KeyScope::Gate).is_none();
            if only_gate { Choice::Verify(why) } else { again(why) }
        }
        None if finished => Choice::Keep,
        None if some_items && leaves_changes(was) => again(RerunReason::NotMerged),
        None if some_items => Choice::KeepItems,
        None => again(RerunReason::Unfinished(instance.status)),
    }
}

/// Whether the changes of a step reach the project only when the whole step succeeds. What items of a failed
/// one did is in folders that belong to the earlier run: their results alone would be results without changes.
fn leaves_changes(step: &PlanStep) -> bool {
    step.isolation().is_some_and(|isolation| isolation.merge != MergePolicy::None)
}

/// Whether the gate of a step, or of one of its items, did not accept the result of its last attempt.
fn refuted(state: &State, instance: &Instance) -> bool {
    let own = |instance: &Instance| {
        instance.status == StepStatus::Failed
            && instance.outcome == Some(OutcomeKind::Ok)
            && instance.verification().is_some_and(|found| found.verdict != Verdict::Passed)
    };
    let items = instance.items().map(|items| items.all());
    own(instance) || items.is_some_and(|mut all| all.any(|ix| own(state.instance(ix))))
}

/// Whether what a step reads of another one, whose result is verified again, is the same if that result is
/// accepted: not its verdict, and it had succeeded before.
fn reads_only_result(facts: &Comparison<'_>, reader: StepIx, on: StepIx) -> bool {
    let step = &facts.now.plan.step(on).step;
    let is_result = |field: Option<&&str>| match step.kind.execution() {
        Execution::Gate(_) => false,
        Execution::Specialist(_)
        | Execution::Child(_)
        | Execution::Attempt(_)
        | Execution::Compute(_)
        | Execution::Ask(_)
        | Execution::Wait(_) => field.is_some_and(|field| {
            ["output", "byKey", "stdout", "stderr", "exitCode"].contains(field)
        }),
    };
    let reads = facts.now.plan.step(reader).references();
    let mut reads = reads.filter(|read| read.root == Root::Step(step.id.clone()));
    let succeeded = |ix: InstanceIx| {
        let instance = facts.state.instance(ix);
        let items = instance.items().map(|items| items.all());
        let succeeded = |ix| facts.state.instance(ix).status == StepStatus::Succeeded;
        succeeded(ix) && items.is_none_or(|mut items| items.all(succeeded))
    };
    let old = facts.before.plan.find(step.id.as_str());
    old.is_some_and(|old| succeeded(InstanceIx(old.0)))
        && reads.all(|read| is_result(read.path().first()))
}

/// Whether a step may take its earlier result and verify it again: it works in one attempt, on the files of
/// the project, and its gate does not compare with the time before the step. What only computes or checks
/// does so again.
fn takes_result(facts: &Comparison<'_>, ix: StepIx) -> bool {
    let planned = facts.now.plan.step(ix);
    let one_attempt = match planned.step.kind.execution() {
        Execution::Specialist(_)
        | Execution::Attempt(_)
        | Execution::Compute(_)
        | Execution::Gate(_) => true,
        Execution::Child(_) | Execution::Ask(_) | Execution::Wait(_) => false,
    };
    let before = |check: &Check| {
        let Check::Command(command) = check else { return false };
        command.compares_with_before().is_some()
    };
    let plain =
        |step: &PlanStep| step.step.details().repeat.is_none() && step.isolation().is_none();
    let was = facts.before.plan.find(planned.step.id.as_str());
    let both_plain = was.is_some_and(|old| plain(facts.before.plan.step(old))) && plain(planned);
    one_attempt
        && both_plain
        && planned.step.details().hook.is_none()
        && !planned.step.checks().iter().any(before)
}

/// Whether the child runs of a step may continue those of an earlier version of it: they run the same
/// playbook once, on the files of the project. Files of its own are lost if the step fails.
pub fn continues_child(was: &PlanStep, now: &PlanStep) -> bool {
    let plain = |step: &PlanStep| {
        let once = step.step.details().repeat.is_none() && step.isolation().is_none();
        step.step.kind.child().filter(|_| once).cloned()
    };
    let child = plain(now);
    child.is_some() && child == plain(was)
}

/// A difference in the definition of a step, or in one that it uses.
fn changed_definition(
    (before, was): (&Version<'_>, &PlanStep),
    (now, step): (&Version<'_>, &PlanStep),
    ignored: KeyScope,
) -> Option<RerunReason> {
    let none = JsonMap::new();
    let [old, new] = [(before, was), (now, step)]
        .map(|(version, step)| version.texts.step(step.step.span).unwrap_or(&none));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differs = |key: &&String| step_key_scope(key) > ignored && old.get(*key) != new.get(*key);
    let changed: Vec<String> = keys.into_iter().filter(differs).cloned().collect();
    if !changed.is_empty() {
        return Some(RerunReason::Definition(changed));
    }
    if before.texts.env() != now.texts.env() {
        return Some(RerunReason::Environment);
    }
    let same = |old: &str, new: &str| {
        let found = (before.files.get(old), now.files.get(new));
        found.0.is_some() && found.0 == found.1
    };
    for specialist in step.specialists() {
        let old = was.specialists().find(|old| old.id == specialist.id);
        if !old.is_some_and(|old| same(&old.path, &specialist.path)) {
            return Some(RerunReason::Specialist(specialist.id.to_string()));
        }
    }
    if let (Some(old), Some(new)) = (was.child(), step.child()) {
        let (old, paths) = (old.files(), new.files());
        let all_same =
            old.len() == paths.len() && old.iter().zip(&paths).all(|(old, new)| same(old, new));
        if !all_same {
            return Some(RerunReason::Child(new.playbook().id.to_string()));
        }
    }
    let file = task_file(step)?;
    (before.task_files.get(file) != now.task_files.get(file))
        .then(|| RerunReason::TaskFile(file.to_owned()))
}

fn task_file(step: &PlanStep) -> Option<&str> {
    let StepKind::Specialist(specialist) = &step.step.kind else { return None };
    match specialist.task.as_ref()? {
        TaskText::File { path, .. } => Some(path),
        TaskText::Inline(_) => None,
    }
}

/// A value that a step reads, other than results of steps, and that is different now.
fn changed_value(before: &Version<'_>, now: &Version<'_>, step: &PlanStep) -> Option<RerunReason> {
    let differs = |name: &str| before.params.get(name) != now.params.get(name);
    step.references().find_map(|reference| match &reference.root {
        Root::Param(name) => differs(name).then(|| RerunReason::Parameter(name.to_string())),
        Root::Params => {
            let names = before.params.keys().chain(now.params.keys());
            let read = |name: &&String| reference.field().is_none_or(|field| field == *name);
            names.filter(read).find(|name| differs(name)).cloned().map(RerunReason::Parameter)
        }
        Root::Run => Some(RerunReason::Run),
        Root::Step(_) | Root::Env(_) | Root::Secret(_) | Root::Item | Root::Index | Root::Loop => {
            None
        }
    })
}
