use super::event::{InstanceIx, StepStatus};
use super::join::JoinCounts;
use super::record::Payload;
use crate::evidence::Verification;
use crate::plan::StepIx;
use crate::value::{Digest, Failure, OutcomeKind, Timestamp, Usage};
use std::sync::Arc;

/// One step or item, as it stands in its present iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Its step in the plan.
    pub step: StepIx,
    /// Its key below the step; `None` for the step itself.
    pub item: Option<Item>,
    /// Where it stands.
    pub status: StepStatus,
    /// From 1.
    pub iteration: u32,
    /// The last attempt begun; 0 before the first.
    pub attempt: u32,
    /// What it handed out.
    pub output: Option<Payload>,
    /// `exitCode`, `stdout`, `stderr` of a process.
    pub streams: Option<Payload>,
    /// Why its last attempt was not good enough, or why it ended so.
    pub failure: Option<Failure>,
    /// What its gate said last.
    pub verification: Option<Verification>,
    /// Whether its failure does not fail the run.
    pub tolerated: bool,
    /// What all its attempts took.
    pub usage: Usage,
    /// When its first attempt of this iteration began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The moment it waits for; `None` while it waits for a person.
    pub due: Option<Timestamp>,
    /// Its items, where it is a `forEach` step that has expanded.
    pub items: Option<Items>,
    /// How the last attempt ended.
    pub outcome: Option<OutcomeKind>,
    pub(super) open: u32,
    pub(super) counts: JoinCounts,
    pub(super) taken: [u32; 2],
    pub(super) fingerprint: Option<Digest>,
    pub(super) queued: u64,
}

/// The place of an item below its step.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The step's own instance.
    pub parent: InstanceIx,
    /// From 0, in item order.
    pub index: u32,
    /// Unique below the step.
    pub key: Arc<str>,
}

/// The items of an expanded `forEach` step.
#[derive(Debug, Clone, PartialEq)]
pub struct Items {
    /// The number of the first; the others follow.
    pub first: InstanceIx,
    /// How many.
    pub count: u32,
    /// The list itself.
    pub values: Payload,
    /// Whether the output is a map by key.
    pub keyed: bool,
    pub(super) ended: u32,
    pub(super) failed: u32,
    pub(super) next: u32,
}

impl Items {
    /// The items' numbers.
    pub fn all(&self) -> impl Iterator<Item = InstanceIx> + Clone + use<> {
        (self.first.0..self.first.0 + self.count).map(InstanceIx)
    }
}

impl Instance {
    pub(super) fn new(step: StepIx, item: Option<Item>) -> Self {
        Instance {
            step,
            item,
            status: StepStatus::Pending,
            iteration: 1,
            attempt: 0,
            output: None,
            streams: None,
            failure: None,
            verification: None,
            tolerated: false,
            usage: Usage::NONE,
            started_at: None,
            ended_at: None,
            due: None,
            items: None,
            outcome: None,
            open: 0,
            counts: JoinCounts::default(),
            taken: [0; 2],
            fingerprint: None,
            queued: 0,
        }
    }

    pub(super) fn restart(&mut self) {
        // What earlier iterations took stays on the bill.
        let (iteration, usage) = (self.iteration + 1, self.usage);
        *self = Instance { iteration, usage, ..Instance::new(self.step, self.item.take()) };
    }

    /// Whether it holds a slot.
    pub fn holds_slot(&self) -> bool {
        matches!(self.status, StepStatus::Running | StepStatus::Verifying) && self.items.is_none()
    }
}
