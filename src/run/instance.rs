use super::compact::CompactPayload;
use super::event::{InstanceIx, StepStatus};
use super::join::DependencyEnds;
use super::question::Question;
use crate::evidence::Payload;
use crate::evidence::Verification;
use crate::plan::StepIx;
use crate::value::{Digest, Failure, OutcomeKind, Timestamp, Usage};
use std::borrow::Cow;
use std::num::NonZeroU32;

/// One step or item, as it stands in its present iteration. A run has as many as it has steps and
/// items until it ends, so what few of them have is not within.
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
    pub output: Option<CompactPayload>,
    /// `exitCode`, `stdout`, `stderr` of a process.
    pub streams: Option<CompactPayload>,
    /// Whether its failure does not fail the run.
    pub tolerated: bool,
    /// How the last attempt ended.
    pub outcome: Option<OutcomeKind>,
    pub(super) open: u32,
    pub(super) ends: DependencyEnds,
    pub(super) queued: u64,
    started: Moment,
    ended: Moment,
    rest: Option<Box<Extras>>,
}

/// What only few instances have.
#[derive(Debug, Clone, PartialEq)]
struct Extras {
    failure: Option<Failure>,
    verification: Option<Verification>,
    usage: Usage,
    due: Option<Timestamp>,
    items: Option<Items>,
    taken: [u32; 2],
    fingerprint: Option<Digest>,
    question: Option<Box<Question>>,
}

impl Default for Extras {
    fn default() -> Self {
        Extras {
            failure: None,
            verification: None,
            usage: Usage::NONE,
            due: None,
            items: None,
            taken: [0; 2],
            fingerprint: None,
            question: None,
        }
    }
}

/// The place of an item below its step.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The step's own instance.
    pub parent: InstanceIx,
    number: NonZeroU32,
    /// `None` where it is the index.
    key: Option<Box<str>>,
}

impl Item {
    /// The item of that index, from 0, and key.
    pub fn new(parent: InstanceIx, index: u32, key: &str) -> Item {
        let key = (key != index.to_string()).then(|| key.into());
        Item { parent, number: NonZeroU32::MIN.saturating_add(index), key }
    }

    /// From 0, in item order.
    pub fn index(&self) -> u32 {
        self.number.get() - 1
    }

    /// Unique below the step.
    pub fn key(&self) -> Cow<'_, str> {
        match &self.key {
            Some(key) => Cow::Borrowed(key),
            None => Cow::Owned(self.index().to_string()),
        }
    }
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
            tolerated: false,
            outcome: None,
            open: 0,
            ends: DependencyEnds::default(),
            queued: 0,
            started: Moment::NONE,
            ended: Moment::NONE,
            rest: None,
        }
    }

    pub(super) fn restart(&mut self) {
        // What earlier iterations took stays on the bill.
        let (iteration, usage) = (self.iteration + 1, self.usage());
        *self = Instance { iteration, ..Instance::new(self.step, self.item.take()) };
        self.spend(usage);
    }

    /// Whether it holds a slot.
    pub fn holds_slot(&self) -> bool {
        matches!(self.status, StepStatus::Running | StepStatus::Verifying) && self.items().is_none()
    }

    /// When its first attempt of this iteration began.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.started.get()
    }

    /// When it ended.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.ended.get()
    }

    /// The moment it waits for; `None` while it waits for a person.
    pub fn due(&self) -> Option<Timestamp> {
        self.rest.as_ref()?.due
    }

    /// The question that it waits for, while it does.
    pub fn question(&self) -> Option<&Question> {
        self.rest.as_ref()?.question.as_deref()
    }

    /// Why its last attempt was not good enough, or why it ended so.
    pub fn failure(&self) -> Option<&Failure> {
        self.rest.as_ref()?.failure.as_ref()
    }

    /// What its gate said last.
    pub fn verification(&self) -> Option<&Verification> {
        self.rest.as_ref()?.verification.as_ref()
    }

    /// Its items, where it is a `forEach` step that has expanded.
    pub fn items(&self) -> Option<&Items> {
        self.rest.as_ref()?.items.as_ref()
    }

    /// What all its attempts took.
    pub fn usage(&self) -> Usage {
        self.rest.as_ref().map_or(Usage::NONE, |rest| rest.usage)
    }

    /// How often a row of its recovery table was taken.
    pub(super) fn taken(&self, row: usize) -> u32 {
        self.rest.as_ref().and_then(|rest| rest.taken.get(row).copied()).unwrap_or(0)
    }

    /// The failure that it was last tried again for.
    pub(super) fn fingerprint(&self) -> Option<Digest> {
        self.rest.as_ref()?.fingerprint
    }

    pub(super) fn items_mut(&mut self) -> Option<&mut Items> {
        self.rest.as_mut()?.items.as_mut()
    }

    pub(super) fn start_at(&mut self, at: Timestamp) {
        if self.started == Moment::NONE {
            self.started = Moment::at(at);
        }
    }

    pub(super) fn end_at(&mut self, at: Timestamp) {
        self.ended = Moment::at(at);
    }

    pub(super) fn set_due(&mut self, due: Option<Timestamp>) {
        self.set(due, |rest| &mut rest.due);
    }

    pub(super) fn set_question(&mut self, question: Option<Box<Question>>) {
        self.set(question, |rest| &mut rest.question);
    }

    pub(super) fn set_failure(&mut self, failure: Option<Failure>) {
        self.set(failure, |rest| &mut rest.failure);
    }

    pub(super) fn set_verification(&mut self, verification: Option<Verification>) {
        self.set(verification, |rest| &mut rest.verification);
    }

    pub(super) fn set_items(&mut self, items: Option<Items>) {
        self.set(items, |rest| &mut rest.items);
    }

    pub(super) fn spend(&mut self, usage: Usage) {
        if usage != Usage::NONE {
            self.rest.get_or_insert_default().usage += usage;
        }
    }

    /// Takes a row of its recovery table, for that failure.
    pub(super) fn take_row(&mut self, row: u32, fingerprint: Digest) {
        let rest = self.rest.get_or_insert_default();
        rest.fingerprint = Some(fingerprint);
        if let Some(taken) = rest.taken.get_mut(row as usize) {
            *taken += 1;
        }
    }

    fn set<T>(&mut self, value: Option<T>, place: impl Fn(&mut Extras) -> &mut Option<T>) {
        if value.is_some() || self.rest.is_some() {
            *place(self.rest.get_or_insert_default()) = value;
        }
    }
}

/// A moment or none, in the room of a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment(i64);

impl Moment {
    const NONE: Moment = Moment(i64::MIN);

    fn at(at: Timestamp) -> Moment {
        Moment(at.0)
    }

    fn get(self) -> Option<Timestamp> {
        (self != Moment::NONE).then_some(Timestamp(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_small() {
        assert!(size_of::<Instance>() <= 120, "{}", size_of::<Instance>());
    }

    #[test]
    fn the_key_of_an_item_is_its_own_or_its_index() {
        let item = |index, key| Item::new(InstanceIx(0), index, key);
        assert_eq!((item(7, "7").key().as_ref(), item(7, "7").key), ("7", None));
        assert_eq!((item(7, "07").key().as_ref(), item(7, "").key().as_ref()), ("07", ""));
        assert_eq!(item(7, "x").index(), 7);
    }
}
