//! The JSON form of runs.

use super::following::{FollowingStep, following};
use super::instance_reason::reason;
use super::parts::{CheckView, ErrorView, UsageView};
use super::plan_revision_view::PlanRevisionView;
use super::verdicts::VerdictsView;
use super::work_time::WorkTime;
use crate::evidence::Verdict;
use crate::redaction::Masked;
use crate::run::{Instance, InstanceIx, Question, RunStatus, State, StepStatus};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, JsonMap, RunId, Tier, Timestamp};
use kb_language::plan::Plan;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The entry of a run in the list of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHead {
    /// Id of the run.
    pub run: RunId,
    /// Status of the run.
    pub status: RunStatus,
    /// Id of the definition.
    pub definition: String,
    /// Time of the start.
    pub started_at: Timestamp,
    /// Time of the end, if it has ended.
    pub ended_at: Option<Timestamp>,
    /// The step of another run that executes it as a child run.
    pub parent: Option<ParentView>,
    /// The earlier run whose results it keeps.
    pub base: Option<BaseView>,
    /// Parameter values; secrets are references.
    pub params: JsonMap,
}

/// A worktree or copy whose changes are not merged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeView {
    /// The step or item.
    pub instance: String,
    /// The folder with its files.
    pub path: String,
}

/// The step of another run that executes a child run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParentView {
    /// Id of the other run.
    pub run: String,
    /// Name of the step instance.
    pub instance: String,
}

/// The earlier run whose results a run keeps.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaseView {
    /// Id of the earlier run.
    pub run: String,
    /// Steps whose results are kept, or those of their items that succeeded.
    pub kept: Vec<String>,
    /// Steps whose results are verified again in place of their work, each with the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub verified: BTreeMap<String, String>,
    /// The other steps, each with the reason.
    pub again: BTreeMap<String, String>,
    /// Why a planner replaced steps, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<PlanRevisionView>,
}

/// A run, for `kb run list --json` and `show --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Id of the run.
    pub run: String,
    /// Status of the run.
    pub status: RunStatus,
    /// Id of the definition.
    pub definition: String,
    /// The step of another run that executes it as a child run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentView>,
    /// The earlier run whose results it keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseView>,
    /// Parameter values; secrets are references. Absent if it has none.
    #[serde(skip_serializing_if = "JsonMap::is_empty")]
    pub params: JsonMap,
    /// Time of the start, in RFC 3339.
    pub started_at: String,
    /// Time of the end, in RFC 3339; null if it has not ended.
    pub ended_at: Option<String>,
    /// Milliseconds from the start to the end of the run or of its last step.
    pub duration_ms: Option<u64>,
    /// The time of the run, as it is shown: milliseconds that processes drove it, without the time between them.
    pub work_ms: Option<u64>,
    /// Milliseconds that the last process drove the run.
    pub attempt_ms: Option<u64>,
    /// Usage of models and tools.
    pub usage: UsageView,
    /// Number of steps by status.
    pub counts: BTreeMap<StepStatus, u32>,
    /// Number of step instances, also of child runs, that succeeded although their gate did not pass;
    /// absent if 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproven: Option<usize>,
    /// The failure of the run, if it is not the failure of a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorView>,
    /// Steps in plan order, each followed by its items.
    pub steps: Vec<InstanceView>,
    /// Worktrees and copies whose changes are not merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreeView>,
}

/// A step or item of a run in its current iteration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceView {
    /// Id of the step.
    pub step: String,
    /// Name of the step instance: the step id, or `step[item]`.
    pub instance: String,
    /// Step kind, such as `run`.
    pub kind: &'static str,
    /// Status of the instance.
    pub status: StepStatus,
    /// Number of the iteration, from 1.
    pub iteration: u32,
    /// Number of the last pass of a step with `loop`, from 1; absent for other steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<u32>,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Model tier of its specialist in the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<&'static str>,
    /// Number of attempts for which recovery chose a larger model; absent if 0.
    #[serde(skip_serializing_if = "super::body_type::is_zero")]
    pub escalations: u32,
    /// Time of the start, in RFC 3339.
    pub started_at: Option<String>,
    /// Time of the end, in RFC 3339; null if it has not ended.
    pub ended_at: Option<String>,
    /// Milliseconds from the first attempt to the end, without the time between two processes in which
    /// it did not run. Of a step whose process was killed: to the last sign of life.
    pub duration_ms: Option<u64>,
    /// Milliseconds of the step in which no process ran it, between a kill and a resume.
    #[serde(skip)]
    pub lost_ms: u64,
    /// Usage of models and tools.
    pub usage: UsageView,
    /// Last verdict of its gate.
    pub verdict: Option<Verdict>,
    /// Checks of the last verdict, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckView>,
    /// Whether the failure does not fail the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tolerated: bool,
    /// The failure, if it did not succeed.
    pub error: Option<ErrorView>,
    /// If it failed, the position of the step in its file when the run started: `PATH:LINE:COLUMN`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Why it was skipped or blocked, or what it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it waits for a higher budget.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needs_budget: bool,
    /// The question that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// The steps that run because of the approval that it waits for, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<FollowingStep>,
    /// The earlier run that executed it, if its result was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<String>,
    /// The run and the step instance that made its result, if it took a stored result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_from: Option<CachedFromView>,
    /// Id of the last child run of a `playbook` step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_run: Option<String>,
    /// The verdicts of the gates of that child run; absent without gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_verdicts: Option<VerdictsView>,
}

/// The run and the step instance that made a stored result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CachedFromView {
    /// Id of the run.
    pub run: String,
    /// Name of the step instance.
    pub instance: String,
}

impl RunView {
    /// The view of a run from its folded state.
    pub fn of(head: &RunHead, plan: &Plan, state: &State, work: WorkTime) -> Masked<RunView> {
        let mut steps: Vec<(usize, usize, InstanceView)> = state
            .instances()
            .filter(|(ix, _)| is_live(state, *ix))
            .map(|(ix, instance)| {
                let name = state.key(plan, ix).to_string();
                let mut view = InstanceView::of(name, plan, instance);
                view.duration_ms = duration_of(head, state, ix, work);
                view.lost_ms = state.lost_ms(ix);
                view.reason = reason(plan, state, instance);
                (instance.step.at(), ix.at(), view)
            })
            .collect();
        steps.sort_by_key(|(step, ix, _)| (*step, *ix));
        let mut view = RunView::empty(head);
        let ended = state.instances().filter_map(|(_, instance)| instance.ended_at()).max();
        view.duration_ms = head.ended_at.or(ended).map(|end| millis(head.started_at, end));
        (view.work_ms, view.attempt_ms) = (work.total_ms(), work.last_ms());
        view.usage = state.usage().into();
        view.error = state.failure().map(ErrorView::from);
        for (_, instance) in state.instances().take(plan.steps().len()) {
            *view.counts.entry(instance.status).or_default() += 1;
        }
        view.steps = steps.into_iter().map(|(_, _, view)| view).collect();
        let below = view.steps.iter().filter_map(|step| step.child_verdicts);
        let below: usize = below.map(|verdicts| verdicts.unproven as usize).sum();
        let own = view.steps.iter().filter(|step| step.is_unproven()).count();
        let unproven = own + below;
        view.unproven = Some(unproven).filter(|unproven| *unproven > 0);
        // A state is folded from recorded events, whose texts are masked.
        Masked::composed(view)
    }

    /// How many steps are done, and how many there are.
    pub fn steps_done(&self) -> (u32, u32) {
        let done = self.counts.iter().filter(|(status, _)| status.is_done()).map(|(_, n)| n);
        (done.sum(), self.counts.values().sum())
    }

    /// The view of a run whose definitions or events cannot be read.
    pub fn damaged(head: &RunHead, reason: &str) -> Masked<RunView> {
        let help = format!("`kb run verify {}` shows what is damaged", head.run);
        let failure = Failure::new(Code::JOURNAL_UNUSABLE, reason.to_owned()).help(help);
        let error = Some(ErrorView::from(&failure));
        Masked::composed(RunView { error, ..RunView::empty(head) })
    }

    /// The view with the folders of the run that are not merged.
    pub fn with_trees(view: Masked<RunView>, trees: Vec<TreeView>) -> Masked<RunView> {
        Masked::composed(RunView { trees, ..view.into_inner() })
    }

    /// The view with the positions of failed steps in their files.
    pub fn with_places(
        view: Masked<RunView>,
        place: impl Fn(&str) -> Option<String>,
    ) -> Masked<RunView> {
        let mut view = view.into_inner();
        for step in view.steps.iter_mut().filter(|step| step.status == StepStatus::Failed) {
            step.place = place(&step.step);
        }
        Masked::composed(view)
    }

    /// The view with its failed steps and items only.
    pub fn only_failed(view: Masked<RunView>) -> Masked<RunView> {
        view.map(|mut view| {
            view.steps.retain(|step| step.status == StepStatus::Failed);
            view
        })
    }

    /// The view without its steps.
    pub fn without_steps(view: Masked<RunView>) -> Masked<RunView> {
        view.map(|view| RunView { steps: Vec::new(), ..view })
    }

    fn empty(head: &RunHead) -> RunView {
        RunView {
            run: head.run.to_string(),
            status: head.status,
            definition: head.definition.clone(),
            parent: head.parent.clone(),
            base: head.base.clone(),
            params: head.params.clone(),
            started_at: head.started_at.rfc3339(),
            ended_at: head.ended_at.map(Timestamp::rfc3339),
            duration_ms: head.ended_at.map(|end| millis(head.started_at, end)),
            work_ms: head.ended_at.map(|end| millis(head.started_at, end)),
            attempt_ms: None,
            usage: UsageView::default(),
            counts: BTreeMap::new(),
            unproven: None,
            error: None,
            steps: Vec::new(),
            trees: Vec::new(),
        }
    }
}

/// Whether an instance is current; items of an earlier expansion are not.
fn is_live(state: &State, ix: InstanceIx) -> bool {
    match &state.instance(ix).item {
        None => true,
        Some(item) => state
            .instance(item.parent)
            .items()
            .is_some_and(|items| (items.first.0..items.first.0 + items.count).contains(&ix.0)),
    }
}

/// How long processes worked on an instance; `None` before its end, unless its process was killed.
fn duration_of(head: &RunHead, state: &State, ix: InstanceIx, work: WorkTime) -> Option<u64> {
    let instance = state.instance(ix);
    let is_active = matches!(instance.status, StepStatus::Running | StepStatus::Verifying);
    let killed = is_active && head.status == RunStatus::Interrupted;
    let end = instance.ended_at().or(work.last_at().filter(|_| killed))?;
    Some(millis(instance.started_at()?, end).saturating_sub(state.lost_ms(ix)))
}

fn millis(from: Timestamp, to: Timestamp) -> u64 {
    to.since(from).as_millis() as u64
}

impl InstanceView {
    /// Whether it succeeded although its gate did not pass.
    fn is_unproven(&self) -> bool {
        let passed = self.verdict.is_none_or(|verdict| verdict == Verdict::Passed);
        self.status == StepStatus::Succeeded && !passed
    }

    fn of(name: String, plan: &Plan, instance: &Instance) -> InstanceView {
        let planned = plan.step(instance.step);
        let step = &planned.step;
        let chosen = instance.variation();
        let specialist = planned.specialist_named(chosen.specialist.as_ref());
        let of_model = specialist.filter(|specialist| specialist.agent.is_none());
        let tier = chosen.tier.or_else(|| of_model.map(|specialist| specialist.model.tier));
        let failed = instance.status != StepStatus::Succeeded;
        // With `forEach`, each item has a loop of its own.
        let loops =
            step.details().repeat.is_some() && (step.for_each.is_none() || instance.item.is_some());
        let checks = instance.verification().into_iter().flat_map(|gate| &gate.checks);
        InstanceView {
            step: step.id.to_string(),
            instance: name,
            kind: step.kind.name(),
            status: instance.status,
            iteration: instance.iteration,
            pass: loops.then(|| instance.pass()),
            attempts: instance.attempt,
            tier: tier.map(Tier::as_str),
            escalations: instance.escalations(),
            started_at: instance.started_at().map(Timestamp::rfc3339),
            ended_at: instance.ended_at().map(Timestamp::rfc3339),
            duration_ms: None,
            lost_ms: 0,
            usage: instance.usage().into(),
            verdict: instance.verification().map(|v| v.verdict),
            checks: checks.map(CheckView::from).collect(),
            tolerated: instance.tolerated,
            error: instance
                .failure()
                .filter(|_| failed)
                .map(|failure| ErrorView::of_step(step, instance.outcome, failure)),
            place: None,
            reason: None,
            needs_budget: instance.needs_budget(),
            question: instance.question().cloned(),
            then: following(plan, instance.step, instance.question()),
            kept_from: instance.kept_from().or(instance.verified_from()).map(ToString::to_string),
            cached_from: instance.cached_from().map(|(run, instance)| CachedFromView {
                run: run.to_string(),
                instance: instance.to_owned(),
            }),
            child_run: instance.child().map(|child| child.run.to_string()),
            child_verdicts: instance.child_verdicts().some().map(VerdictsView::from),
        }
    }
}
