//! The state of a run, which events build up.

use super::bus::Bus;
use super::event::{InstanceIx, StepStatus};
use super::extras::MergeState;
use super::instance::Instance;
use crate::evidence::Payload;
use kb_base::diagnostic::Code;
use kb_base::value::{
    Digest, Failure, InstanceKey, RunLimits, RunStatus, SpecialistId, Timestamp, Usage,
};
use kb_language::definition::{OnError, Specialist, StepPhase, Undecided};
use kb_language::plan::{Plan, StepIx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Options of a run that are not in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Maximum number of instances that run or verify at the same time; at least 1.
    pub max_parallel: u32,
    /// Whether that is the number of processors, because no limit is set. It does not limit the items of
    /// a step that has its own `maxParallel`.
    pub limited_by_processors: bool,
    /// What follows a verdict that decides nothing, if the step sets no policy.
    pub undecided: Undecided,
    /// Limits of the command line, which a resume keeps.
    pub limits: RunLimits,
    /// Whether another run executes it and is acknowledged for both.
    pub is_child: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            max_parallel: 2,
            limited_by_processors: false,
            undecided: Undecided::default(),
            limits: RunLimits::default(),
            is_child: false,
        }
    }
}

/// The state of a run, computed from its events. `apply` folds events; only `decide` creates them.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub(super) rules: Rules,
    pub(super) status: RunStatus,
    pub(super) instances: Vec<Instance>,
    pub(super) ready: BTreeSet<(u32, InstanceIx)>,
    /// Ready instances that need locks, by the locks.
    pub(super) ready_locked: BTreeMap<Vec<String>, BTreeSet<(u32, InstanceIx)>>,
    /// Instances that start whether a slot is free or not.
    pub(super) ready_slotless: BTreeSet<(u32, InstanceIx)>,
    /// Number of the last place in a queue.
    pub(super) queue: u32,
    pub(super) slots: u32,
    /// How many of the occupied slots `max_parallel` does not limit.
    pub(super) unlimited_slots: u32,
    /// The held locks with their owners.
    pub(super) held: BTreeMap<String, InstanceIx>,
    /// Attempts that cancel child runs while another instance owns one of their locks.
    pub(super) shared: Vec<(String, InstanceIx)>,
    pub(super) open_main: u32,
    pub(super) open_finally: u32,
    pub(super) failed: bool,
    /// Whether a step failed since the last reset; earlier failures do not trigger `failFast` again.
    pub(super) failed_now: bool,
    pub(super) cancel: Option<String>,
    pub(super) draining: bool,
    pub(super) expired: Option<u64>,
    /// Iteration of the run, from 1; each reset starts the next.
    pub(super) iteration: u32,
    pub(super) seed: Digest,
    pub(super) failure: Option<Failure>,
    pub(super) outputs: Option<Payload>,
    pub(super) started_at: Timestamp,
    pub(super) last_event_at: Timestamp,
    /// Milliseconds in which no process worked on an instance that had started.
    pub(super) lost: BTreeMap<InstanceIx, u64>,
    /// Escalations in this run, by specialist.
    pub(super) escalations: BTreeMap<SpecialistId, u32>,
    /// Attempts with the large tier in this run.
    pub(super) large_uses: u32,
    /// How often a rejection sent the work back, by the step that asked.
    pub(super) returns: BTreeMap<InstanceIx, u32>,
    /// The last rejection that sent the work back.
    pub(super) rejection: Option<Box<Rejection>>,
    /// What people decided about models without a price, by the digest of the model.
    pub(super) models: BTreeMap<Digest, ModelDecision>,
    /// What the steps said to each other; `None` as long as none has said or asked anything.
    pub(super) bus: Option<Box<Bus>>,
}

/// Whether a model without a price may be called in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelDecision {
    pub(super) permitted: bool,
    pub(super) by: String,
}

/// A rejection by a person that sent the work back to an earlier step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The step that asked for the approval.
    pub asked_by: InstanceIx,
    /// The step that starts again.
    pub to: InstanceIx,
    /// Who rejected the work.
    pub by: String,
    /// The comment of that person.
    pub comment: Option<String>,
    /// How often the work went back, including this time.
    pub taken: u32,
}

impl Rejection {
    /// The rejection as a failure, for people and for the next attempt.
    pub fn failure(&self) -> Failure {
        let why = self.comment.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        Failure::new(Code::APPROVAL_REJECTED, format!("rejected by {}{why}", self.by))
    }
}

impl State {
    /// The state before the first event.
    pub fn new(plan: &Plan, rules: Rules) -> Self {
        let steps = plan.steps();
        let instances: Vec<Instance> = (0..steps.len())
            .map(|i| {
                let mut instance = Instance::new(StepIx(i as u32), None);
                instance.open = plan.dependencies(instance.step).count() as u32;
                instance
            })
            .collect();
        let finally = steps.iter().filter(|s| s.step.phase == StepPhase::Finally).count() as u32;
        State {
            rules,
            status: RunStatus::Running,
            open_main: instances.len() as u32 - finally,
            open_finally: finally,
            instances,
            ready: BTreeSet::new(),
            ready_locked: BTreeMap::new(),
            ready_slotless: BTreeSet::new(),
            queue: 0,
            slots: 0,
            unlimited_slots: 0,
            held: BTreeMap::new(),
            shared: Vec::new(),
            failed: false,
            failed_now: false,
            cancel: None,
            draining: false,
            expired: None,
            iteration: 1,
            seed: Digest::of(""),
            failure: None,
            outputs: None,
            started_at: Timestamp::default(),
            last_event_at: Timestamp::default(),
            lost: BTreeMap::new(),
            escalations: BTreeMap::new(),
            large_uses: 0,
            returns: BTreeMap::new(),
            rejection: None,
            models: BTreeMap::new(),
            bus: None,
        }
    }

    /// The steps that did not succeed, without `finally` steps.
    pub fn unsuccessful(&self, plan: &Plan) -> Vec<InstanceIx> {
        let again = |status: StepStatus| {
            matches!(status, StepStatus::Failed | StepStatus::Blocked | StepStatus::Cancelled)
        };
        let is_main = |at: usize| plan.steps()[at].step.phase == StepPhase::Main;
        let steps = self.instances.iter().take(plan.steps().len()).enumerate();
        let steps = steps.filter(|(at, own)| again(own.status) && is_main(*at));
        steps.map(|(at, _)| InstanceIx(at as u32)).collect()
    }

    /// Whether another run executes it.
    pub fn is_child(&self) -> bool {
        self.rules.is_child
    }

    /// Status of the run.
    pub fn status(&self) -> RunStatus {
        self.status
    }

    /// The state of one instance.
    pub fn instance(&self, ix: InstanceIx) -> &Instance {
        &self.instances[ix.at()]
    }

    /// All instances: the plan's steps first, then items.
    pub fn instances(&self) -> impl Iterator<Item = (InstanceIx, &Instance)> {
        self.instances.iter().enumerate().map(|(i, instance)| (InstanceIx(i as u32), instance))
    }

    /// The key of an instance, such as `step` or `step[item]`.
    pub fn key(&self, plan: &Plan, ix: InstanceIx) -> InstanceKey {
        let instance = self.instance(ix);
        let step = plan.step(instance.step).step.id.clone();
        match &instance.item {
            Some(item) => InstanceKey::item(step, item.key()),
            None => InstanceKey::root(step),
        }
    }

    /// The specialist of the current or next attempt of an instance: of the step, or the one that
    /// recovery switched to. `None` for other kinds of step.
    pub fn specialist<'p>(&self, plan: &'p Plan, ix: InstanceIx) -> Option<&'p Arc<Specialist>> {
        let instance = self.instance(ix);
        plan.step(instance.step).specialist_named(instance.variation().specialist.as_ref())
    }

    /// Whether a cancellation was requested.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_some()
    }

    /// Whether the run exceeded its timeout.
    pub fn has_expired(&self) -> bool {
        self.expired.is_some()
    }

    /// Whether an instance waits for a person, with or without a timeout.
    pub fn waits_for_person(&self, plan: &Plan, ix: InstanceIx) -> bool {
        let instance = self.instance(ix);
        let kind = &plan.step(instance.step).step.kind;
        // A `playbook` step waits for its child run, which has the question, unless recovery asks for it.
        let own = kind.child().is_none() || instance.question().is_some();
        let asks = instance.due().is_none() && own;
        instance.status == StepStatus::Waiting && (kind.needs_person() || asks)
    }

    /// Whether an instance waits for a child run, which waits itself.
    pub fn waits_for_child(&self, plan: &Plan, ix: InstanceIx) -> bool {
        let instance = self.instance(ix);
        instance.status == StepStatus::Waiting
            && instance.due().is_none()
            // Recovery may ask a person whether another attempt follows.
            && instance.question().is_none()
            && plan.step(instance.step).step.kind.child().is_some()
    }

    /// The instances whose files are merged at the end of a step: the step itself, or its items that
    /// succeeded, also in an earlier iteration, and were not merged in it.
    pub fn merged_at_end(&self, step: InstanceIx) -> Vec<InstanceIx> {
        let Some(items) = self.instance(step).items() else { return vec![step] };
        let is_open = |item: &InstanceIx| {
            let item = self.instance(*item);
            item.status == StepStatus::Succeeded && item.merge() != MergeState::Merged
        };
        items.all().filter(is_open).collect()
    }

    /// Whether the run drains, so that no attempt starts.
    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// Whether a step failed and was not tolerated.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Number of occupied slots.
    pub fn running(&self) -> u32 {
        self.slots
    }

    /// The first ready instance whose locks are free. An instance that waits longer keeps the locks that it
    /// needs from those behind it.
    pub(super) fn next_locked(&self) -> Option<(u32, InstanceIx)> {
        let first = |(locks, queue): (&'_ Vec<String>, &BTreeSet<(u32, InstanceIx)>)| {
            Some((*queue.first()?, locks.clone()))
        };
        let mut heads: Vec<_> = self.ready_locked.iter().filter_map(first).collect();
        heads.sort();
        let mut wanted: BTreeSet<&String> = self.held.keys().collect();
        for (entry, locks) in &heads {
            if locks.iter().all(|lock| !wanted.contains(lock)) {
                return Some(*entry);
            }
            wanted.extend(locks);
        }
        None
    }

    /// The last rejection that sent the work of earlier steps back.
    pub fn rejection(&self) -> Option<&Rejection> {
        self.rejection.as_deref()
    }

    /// Outputs of the run, once it has ended.
    pub fn outputs(&self) -> Option<&Payload> {
        self.outputs.as_ref()
    }

    /// Why the run failed, if no step caused it.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Start time of the run.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Milliseconds since the start of an instance in which no process worked on it although it had not
    /// ended: the time between a kill and a resume.
    pub fn lost_ms(&self, ix: InstanceIx) -> u64 {
        self.lost.get(&ix).copied().unwrap_or(0)
    }

    /// Tokens and cost of the run.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::NONE;
        self.instances.iter().for_each(|instance| sum += instance.usage());
        sum
    }
}

/// Whether a failure of an instance is tolerated.
pub(super) fn tolerates(plan: &Plan, instance: &Instance) -> bool {
    let step = &plan.step(instance.step).step;
    match (&instance.item, &step.for_each) {
        (Some(_), Some(for_each)) => !for_each.on_item_error.fails_the_step(),
        (Some(_), None) | (None, _) => step.on_error == OnError::Continue,
    }
}
