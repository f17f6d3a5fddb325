//! Changes of files that steps made before a retry: the next iteration compares with the state before them.

use kb_attempt::KilledWork;
use kb_core::evidence::NetChanges;
use kb_core::run::{Event, InstanceIx, State};
use kb_language::plan::{Plan, StepIx};
use std::collections::BTreeMap;

/// What the instances of a run changed, by the name of the instance.
pub(super) type ChangesByInstance = BTreeMap<String, NetChanges>;

/// What the runs that a run continues left.
#[derive(Debug, Clone, Default)]
pub struct EarlierWork {
    /// What their steps changed.
    pub changes: ChangesByInstance,
    /// Where the last process was killed, by the name of the instance.
    pub killed: BTreeMap<String, KilledWork>,
}

/// The changes of a run that was read back.
#[derive(Debug, Clone, Default)]
pub struct EarlierChanges {
    /// Those of iterations that a retry has ended, and of the run that this one continues.
    before: ChangesByInstance,
    /// Those of the present iterations, until this process adds an event.
    since: BTreeMap<String, (StepIx, NetChanges)>,
    /// Where processes of the run that this one continues were killed.
    killed: BTreeMap<String, KilledWork>,
}

impl EarlierChanges {
    /// Adds what the run that this one continues recorded, below what is recorded here.
    pub(super) fn continue_from(&mut self, earlier: EarlierWork) {
        let own = std::mem::replace(&mut self.before, earlier.changes);
        self.killed = earlier.killed;
        for (name, changes) in &own {
            self.before.entry(name.clone()).or_default().then(changes);
        }
    }

    /// Adds a stored event. `state` is the one before it.
    pub(super) fn replay(&mut self, plan: &Plan, state: &State, event: &Event) {
        if let Event::Recorded { instance, record, .. } = event
            && !record.calls().is_empty()
        {
            let (name, step) = (state.key(plan, *instance), state.instance(*instance).step);
            let since = self.since.entry(name.to_string());
            since.or_insert_with(|| (step, NetChanges::default())).1.add_calls(record.calls());
        }
        self.reset(event);
    }

    /// Adds a new event: only the first one of a process can be a retry.
    pub(super) fn add(&mut self, event: &Event) {
        if !self.since.is_empty() {
            self.reset(event);
            self.since.clear();
        }
    }

    fn reset(&mut self, event: &Event) {
        let Event::Reset { closure, .. } = event else { return };
        // The first instances are the steps; those after them are items, each with its step.
        let resets = |step: &StepIx| closure.contains(&InstanceIx(step.0));
        let again = self.since.extract_if(.., |_, (step, _)| resets(step));
        for (name, (_, changes)) in again.collect::<Vec<_>>() {
            self.before.entry(name).or_default().then(&changes);
        }
    }

    /// What earlier iterations of an instance changed.
    pub(super) fn of(&self, name: &str) -> Option<&NetChanges> {
        self.before.get(name).filter(|changes| !changes.is_empty())
    }

    /// The process of an earlier run that was killed in the work of an instance.
    pub(super) fn killed(&self, name: &str) -> Option<&KilledWork> {
        self.killed.get(name)
    }

    /// The changes of all iterations.
    pub fn all(mut self) -> ChangesByInstance {
        for (name, (_, changes)) in &self.since {
            self.before.entry(name.clone()).or_default().then(changes);
        }
        self.before
    }
}
