//! The changes of specialists that can decide what a command does in a later step.

use super::prepare::preview_of_task;
use super::scope::RunScope;
use super::trees::tree;
use kb_base::value::{JsonMap, StepStatus};
use kb_core::evidence::{Change, Purpose};
use kb_core::run::{Event, InstanceIx, State};
use kb_core::verify::{EarlierStep, can_decide};
use kb_language::plan::Plan;
use std::collections::BTreeMap;

/// Most changes that are kept of one instance.
const KEPT: usize = 1_000;

/// The changes by instance and its iteration.
#[derive(Debug, Clone, Default)]
pub struct DecidingChanges(BTreeMap<(InstanceIx, u32), Vec<Change>>);

impl DecidingChanges {
    /// Adds an event.
    pub(super) fn note(&mut self, plan: &Plan, state: &State, event: &Event) {
        let Event::Recorded { instance, record, .. } = event else { return };
        let own = state.instance(*instance);
        if plan.step(own.step).specialist.is_none() {
            return;
        }
        let work = record.calls().iter().filter(|call| call.purpose == Purpose::Execution);
        let changes: Vec<Change> =
            work.flat_map(|call| &call.changes).filter_map(can_decide).collect();
        if !changes.is_empty() {
            let kept = self.0.entry((*instance, own.iteration)).or_default();
            kept.extend(changes);
            kept.truncate(KEPT);
        }
    }

    /// Forgets all: a person has read and approved them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// What other steps, and earlier iterations of this one, changed in the files of an instance. Changes in a worktree or
    /// copy count from the end of their step.
    pub(super) fn before(
        &self,
        scope: &RunScope<'_>,
        ix: InstanceIx,
        task_files: &JsonMap,
    ) -> Vec<EarlierStep> {
        let present = (ix, scope.state.instance(ix).iteration);
        let others = self.0.iter().filter(|((own, iteration), _)| {
            let is_there = tree(scope, *own).is_none()
                || scope.state.instance(*own).status == StepStatus::Succeeded;
            (*own, *iteration) != present && is_there
        });
        let earlier = others.map(|((own, _), changes)| {
            let name = scope.state.key(scope.plan, *own).to_string();
            let step = &scope.plan.step(scope.state.instance(*own).step).step;
            EarlierStep::new(name, &preview_of_task(scope, step, task_files), changes.clone())
        });
        earlier.collect()
    }
}
