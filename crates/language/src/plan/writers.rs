//! The steps of a plan that can write what does not come from the author, and which steps they can start before or work
//! beside.

use super::confined::{Facts, Touched};
use super::dag::Writers;
use super::{Plan, PlanStep, StepIx};
use crate::definition::{MergePolicy, StepKind};
use kb_base::value::StepId;
use std::collections::BTreeSet;

/// A writer for each bit.
type Mask = u64;

/// The number of steps that could write before a step which are named.
pub(super) const WRITERS: usize = 20;

/// For each step a block of writers: those that only start after it, that have ended before it, and that an approval before
/// it releases.
struct Order {
    after: Vec<Mask>,
    before: Vec<Mask>,
    released: Vec<Mask>,
}

impl Plan {
    /// The steps that can write to the files of a run what does not come from the author: those of specialists, and those
    /// that may execute or write a foreign value. With a foreign parameter that no payload fills, all count as foreign.
    pub(super) fn writers(&self, facts: &Facts) -> &Writers {
        let (kind, params) = if facts.foreign_params.is_empty() {
            (0, BTreeSet::new())
        } else {
            let filled = self.filled_by_payloads();
            match facts.foreign_params.is_subset(&filled) {
                true => (1, filled),
                false => {
                    (2, self.playbook().params.iter().map(|param| param.name.clone()).collect())
                }
            }
        };
        // The foreign secrets are the same for all of a run.
        let secrets = &facts.foreign_secrets;
        self.writers[kind + if secrets.is_empty() { 0 } else { 3 }].get_or_init(|| {
            let steps = self.find_writers(params, secrets);
            Writers { beside: self.writers_beside(&steps), steps }
        })
    }

    /// Whether a step of the plan can write what does not come from the author, by what is known before the run.
    pub fn has_writers(&self, facts: &Facts) -> bool {
        !self.writers(facts).steps.is_empty()
    }

    /// A step that can write what does not come from the author to the files of the project while a step executes: they do
    /// not exclude each other by the lock of the workspace, or what it did elsewhere is merged.
    pub fn writer_beside(&self, ix: StepIx, facts: &Facts) -> Option<StepId> {
        let writer = self.writers(facts).beside[ix.at()]?;
        Some(self.step(writer).step.id.clone())
    }

    fn find_writers(
        &self,
        foreign_params: BTreeSet<String>,
        foreign_secrets: &BTreeSet<String>,
    ) -> Vec<StepIx> {
        let steps = self.order().iter().copied();
        let mut writers: Vec<StepIx> =
            steps.filter(|ix| self.step(*ix).has_writing_specialist()).collect();
        loop {
            let before = self.writers_before(&writers);
            let mut facts = Facts {
                foreign_params: foreign_params.clone(),
                foreign_secrets: foreign_secrets.clone(),
                ..Facts::default()
            };
            let known: BTreeSet<StepIx> = writers.iter().copied().collect();
            let mut found = known.clone();
            for &ix in self.order() {
                let planned = self.step(ix);
                if facts.may_execute_values(self, planned) {
                    found.insert(ix);
                }
                let writer = before[ix.at()].first();
                facts.touched =
                    writer.map(|writer| Touched::by(self.step(*writer).step.id.clone()));
                facts.note_output_after_writers(self, planned);
                facts.touched = None;
            }
            if found.len() == known.len() {
                return writers;
            }
            writers = found.into_iter().collect();
        }
    }

    /// For each step the first of the writers that can start before it, and that no approval between them releases.
    /// Each pass over the plan decides about as many writers as a mask has bits.
    pub(super) fn writers_before(&self, writers: &[StepIx]) -> Vec<Vec<StepIx>> {
        let mut found = vec![Vec::new(); self.steps().len()];
        for block in writers.chunks(Mask::BITS as usize) {
            let own = self.masks_of(block);
            let order = self.order_of(&own);
            for (at, found) in found.iter_mut().enumerate() {
                let excluded = own[at] | order.after[at] | order.released[at];
                let counts = |bit: &usize| excluded & (1 << bit) == 0;
                let free = WRITERS - found.len();
                found.extend((0..block.len()).filter(counts).map(|bit| block[bit]).take(free));
            }
        }
        found
    }

    /// For each step the first of the writers that nothing orders before or after it, and whose changes it can see.
    fn writers_beside(&self, writers: &[StepIx]) -> Vec<Option<StepIx>> {
        let mut found = vec![None; self.steps().len()];
        for block in writers.chunks(Mask::BITS as usize) {
            let own = self.masks_of(block);
            let order = self.order_of(&own);
            let of = |is: &dyn Fn(&PlanStep) -> bool| {
                let bits = block.iter().enumerate().filter(|(_, ix)| is(self.step(**ix)));
                bits.fold(0, |all: Mask, (bit, _)| all | 1 << bit)
            };
            let last = of(&comes_last);
            let merged =
                of(&|writer| writer.isolation().is_some_and(|own| own.merge != MergePolicy::None));
            let here = of(&|writer| writer.isolation().is_none());
            let locking = of(&PlanStep::locks_workspace);
            for (at, found) in found.iter_mut().enumerate().filter(|(_, found)| found.is_none()) {
                let planned = &self.steps()[at];
                if planned.isolation().is_some() {
                    continue;
                }
                let in_phase = if comes_last(planned) { last } else { !last };
                let unlocked = if planned.locks_workspace() { here & !locking } else { here };
                let ordered = own[at] | order.after[at] | order.before[at];
                let beside = in_phase & (merged | unlocked) & !ordered;
                let bit = beside.trailing_zeros() as usize;
                *found = block.get(bit).copied();
            }
        }
        found
    }

    /// The bit of each step in a block of writers.
    fn masks_of(&self, block: &[StepIx]) -> Vec<Mask> {
        let mut own: Vec<Mask> = vec![0; self.steps().len()];
        block.iter().enumerate().for_each(|(bit, ix)| own[ix.at()] = 1 << bit);
        own
    }

    fn order_of(&self, own: &[Mask]) -> Order {
        let mut after: Vec<Mask> = vec![0; own.len()];
        for &ix in self.order().iter().rev() {
            let next = self.dependents(ix).map(|next| next.step.at());
            after[ix.at()] = next.map(|at| after[at] | own[at]).fold(0, |all, mask| all | mask);
        }
        let mut before: Vec<Mask> = vec![0; own.len()];
        let mut released = before.clone();
        for &ix in self.order() {
            for dependency in self.dependencies(ix) {
                let at = dependency.on.at();
                before[ix.at()] |= before[at] | own[at];
                released[ix.at()] |= released[at];
                if matches!(self.step(dependency.on).step.kind, StepKind::Approve(_)) {
                    released[ix.at()] |= before[at];
                }
            }
        }
        Order { after, before, released }
    }
}

/// Whether a step only starts when the other steps have ended.
fn comes_last(planned: &PlanStep) -> bool {
    let is_early = planned.step.details().hook.as_ref().is_some_and(|hook| hook.is_early());
    planned.is_finally() && !is_early
}
