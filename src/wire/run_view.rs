use super::parts::{CheckView, ErrorView, UsageView};
use crate::evidence::Verdict;
use crate::plan::Plan;
use crate::run::{Instance, Question, RunStatus, State, StepStatus};
use crate::value::{RunId, Timestamp};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the journal's list says of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHead {
    /// Its id.
    pub run: RunId,
    /// Where it stands, `interrupted` included.
    pub status: RunStatus,
    /// The definition's id.
    pub definition: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended, if it has.
    pub ended_at: Option<Timestamp>,
}

/// A run, for `kb run list --json` and `show --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Its id.
    pub run: String,
    /// Status of the run.
    pub status: RunStatus,
    /// The definition's id.
    pub definition: String,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339.
    pub ended_at: Option<String>,
    /// From its start to its end, or to its last step's end.
    pub duration_ms: Option<u64>,
    /// What it took.
    pub usage: UsageView,
    /// Steps by status.
    pub counts: BTreeMap<&'static str, u32>,
    /// Why it did not succeed, where that is not a step's own failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorView>,
    /// Its steps in plan order, each followed by its items.
    pub steps: Vec<InstanceView>,
}

/// A step of a run, or one item of it, as it stands in its present iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceView {
    /// The step's id.
    pub step: String,
    /// The step, or one item of it.
    pub instance: String,
    /// The step's kind key.
    pub kind: &'static str,
    /// Status of the instance.
    pub status: StepStatus,
    /// From 1.
    pub iteration: u32,
    /// Number of attempts that started.
    pub attempts: u32,
    /// RFC 3339.
    pub started_at: Option<String>,
    /// RFC 3339.
    pub ended_at: Option<String>,
    /// From its first attempt to its end.
    pub duration_ms: Option<u64>,
    /// What it took.
    pub usage: UsageView,
    /// What its gate said last.
    pub verdict: Option<Verdict>,
    /// What its gate checked last, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckView>,
    /// Whether its failure does not fail the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tolerated: bool,
    /// Why it did not succeed.
    pub error: Option<ErrorView>,
    /// The question that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
}

impl RunView {
    /// A run as its events add up.
    pub fn of(head: &RunHead, plan: &Plan, state: &State) -> RunView {
        let mut steps: Vec<(usize, usize, InstanceView)> = state
            .instances()
            .filter(|(ix, _)| is_live(state, *ix))
            .map(|(ix, instance)| {
                let name = state.key(plan, ix).to_string();
                let view = InstanceView::of(name, plan, instance);
                (instance.step.at(), ix.at(), view)
            })
            .collect();
        steps.sort_by_key(|(step, ix, _)| (*step, *ix));
        let mut view = RunView::head(head);
        let ended = state.instances().filter_map(|(_, instance)| instance.ended_at()).max();
        view.duration_ms = head.ended_at.or(ended).map(|end| millis(head.started_at, end));
        view.usage = state.usage().into();
        view.error = state.failure().map(ErrorView::from);
        for (_, instance) in state.instances().take(plan.steps().len()) {
            *view.counts.entry(instance.status.as_str()).or_default() += 1;
        }
        view.steps = steps.into_iter().map(|(_, _, view)| view).collect();
        view
    }

    /// What is known without its events.
    pub fn head(head: &RunHead) -> RunView {
        RunView {
            run: head.run.to_string(),
            status: head.status,
            definition: head.definition.clone(),
            started_at: head.started_at.rfc3339(),
            ended_at: head.ended_at.map(Timestamp::rfc3339),
            duration_ms: head.ended_at.map(|end| millis(head.started_at, end)),
            usage: UsageView::default(),
            counts: BTreeMap::new(),
            error: None,
            steps: Vec::new(),
        }
    }
}

/// Whether an instance belongs to the present: items of an expansion that was started again are not.
fn is_live(state: &State, ix: crate::run::InstanceIx) -> bool {
    match &state.instance(ix).item {
        None => true,
        Some(item) => state
            .instance(item.parent)
            .items()
            .is_some_and(|items| (items.first.0..items.first.0 + items.count).contains(&ix.0)),
    }
}

fn millis(from: Timestamp, to: Timestamp) -> u64 {
    to.since(from).as_millis() as u64
}

impl InstanceView {
    fn of(name: String, plan: &Plan, instance: &Instance) -> InstanceView {
        let step = &plan.step(instance.step).step;
        let duration =
            instance.started_at().zip(instance.ended_at()).map(|(from, to)| millis(from, to));
        let failed = instance.status != StepStatus::Succeeded;
        let checks = instance.verification().into_iter().flat_map(|gate| &gate.checks);
        InstanceView {
            step: step.id.to_string(),
            instance: name,
            kind: step.kind.name(),
            status: instance.status,
            iteration: instance.iteration,
            attempts: instance.attempt,
            started_at: instance.started_at().map(Timestamp::rfc3339),
            ended_at: instance.ended_at().map(Timestamp::rfc3339),
            duration_ms: duration,
            usage: instance.usage().into(),
            verdict: instance.verification().map(|v| v.verdict),
            checks: checks.map(CheckView::from).collect(),
            tolerated: instance.tolerated,
            error: instance.failure().filter(|_| failed).map(ErrorView::from),
            question: instance.question().cloned(),
        }
    }
}
