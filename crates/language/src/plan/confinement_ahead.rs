//! Which steps of a plan will run their commands in the sandbox, as far as the definition says.

use super::confined::{Confined, Facts, ForeignValue, Touched};
use super::{Plan, PlanStep, StepIx};
use crate::definition::{AuthorSandbox, MergePolicy, StepKind, TriggerSource};
use kb_base::value::StepId;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// A writer for each bit.
type Mask = u64;

/// The number of steps that could write before a step which are named.
const WRITERS: usize = 20;

/// Why the commands of a step will run in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ConfinedAhead {
    /// From the start of the run: the step says so.
    FromStart,
    /// Once this step has started.
    Once(StepId),
    /// They read the output of this step.
    Output(StepId),
    /// In a run that a trigger started: they read this parameter, which the payload fills.
    Triggered(Box<str>),
}

impl Plan {
    /// Why the commands of each step will run in the sandbox, by [`StepIx`]; nothing for a step whose commands are
    /// free, that has none, or that belongs to a specialist, whose commands always do. It follows the rule of
    /// [`Facts::confined`]. What a run that this one continues, or its parent, knows is not part of it. Of each step, at
    /// most 20 steps that could write before it are named.
    pub fn confined_ahead(&self) -> Vec<Vec<ConfinedAhead>> {
        let mut causes = vec![Vec::new(); self.steps().len()];
        let mut by_hand = Facts::default();
        let mut triggered = Facts { foreign_params: self.filled_by_payloads(), ..Facts::default() };
        let mut once = self.writers_before(self.writers(&triggered));
        for &ix in self.order() {
            let planned = self.step(ix);
            // A later pass of a loop reads what an earlier one left.
            let facts = [&mut by_hand, &mut triggered];
            facts.into_iter().for_each(|facts| facts.note_output(self, planned));
            if planned.specialist.is_none() && planned.step.starts_commands() {
                let once = std::mem::take(&mut once[ix.at()]);
                causes[ix.at()] = self.causes(ix, &by_hand, &triggered, once);
            }
            for facts in [&mut by_hand, &mut triggered] {
                facts.touched = causes[ix.at()].iter().find_map(ConfinedAhead::touched);
                facts.note_output(self, planned);
                facts.touched = None;
            }
        }
        causes
    }

    /// The steps that can write to the files of a run what does not come from the author: those of specialists, and those
    /// that may execute or write a foreign value. With a foreign parameter that no payload fills, all count as foreign.
    fn writers(&self, facts: &Facts) -> &[StepIx] {
        let filled = self.filled_by_payloads();
        let (kind, params) = match () {
            () if facts.foreign_params.is_empty() => (0, BTreeSet::new()),
            () if facts.foreign_params.is_subset(&filled) => (1, filled),
            () => (2, self.playbook().params.iter().map(|param| param.name.clone()).collect()),
        };
        self.writers[kind].get_or_init(|| self.find_writers(params))
    }

    /// Whether a step of the plan can write what does not come from the author, by what is known before the run.
    pub fn has_writers(&self, facts: &Facts) -> bool {
        !self.writers(facts).is_empty()
    }

    fn find_writers(&self, foreign_params: BTreeSet<String>) -> Vec<StepIx> {
        let steps = self.order().iter().copied();
        let mut writers: Vec<StepIx> =
            steps.filter(|ix| self.step(*ix).has_writing_specialist()).collect();
        loop {
            let before = self.writers_before(&writers);
            let mut facts = Facts { foreign_params: foreign_params.clone(), ..Facts::default() };
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
                facts.note_output_beside(self, planned, &[]);
                facts.touched = None;
            }
            if found.len() == known.len() {
                return writers;
            }
            writers = found.into_iter().collect();
        }
    }

    fn causes(
        &self,
        ix: StepIx,
        by_hand: &Facts,
        triggered: &Facts,
        once: Vec<StepIx>,
    ) -> Vec<ConfinedAhead> {
        let planned = self.step(ix);
        match self.sandbox_of(planned).when {
            AuthorSandbox::Never => return Vec::new(),
            AuthorSandbox::Always => return vec![ConfinedAhead::FromStart],
            AuthorSandbox::Auto => {}
        }
        let value = |facts: &Facts| match facts.confined(self, planned) {
            Some(Confined::Value(ForeignValue::Output(step))) => Some(ConfinedAhead::Output(step)),
            Some(Confined::Value(ForeignValue::Param(name))) => {
                Some(ConfinedAhead::Triggered(name))
            }
            Some(Confined::Always { .. } | Confined::Touched(_)) | None => None,
        };
        let mut causes: Vec<ConfinedAhead> =
            value(by_hand).or_else(|| value(triggered)).into_iter().collect();
        causes
            .extend(once.into_iter().map(|ix| ConfinedAhead::Once(self.step(ix).step.id.clone())));
        causes
    }

    /// A step that can write what does not come from the author to the files of the project while a step executes: they do
    /// not exclude each other by the lock of the workspace, or what it did elsewhere is merged.
    pub fn writer_beside(&self, ix: StepIx, facts: &Facts) -> Option<StepId> {
        self.beside(ix, self.writers(facts))
    }

    pub(super) fn beside(&self, ix: StepIx, writers: &[StepIx]) -> Option<StepId> {
        let planned = self.step(ix);
        if planned.isolation().is_some() {
            return None;
        }
        let comes_last = |planned: &PlanStep| {
            let is_early = planned.step.details().hook.as_ref().is_some_and(|hook| hook.is_early());
            planned.is_finally() && !is_early
        };
        let overlaps = |writer: &PlanStep| match writer.isolation() {
            Some(own) => own.merge != MergePolicy::None,
            None => !(planned.locks_workspace() && writer.locks_workspace()),
        };
        let first = writers.iter().copied().find(|other| {
            let writer = self.step(*other);
            *other != ix
                && comes_last(writer) == comes_last(planned)
                && overlaps(writer)
                && !self.follows(ix, *other)
                && !self.follows(*other, ix)
        });
        first.map(|writer| self.step(writer).step.id.clone())
    }

    /// Whether a step only starts after another one.
    fn follows(&self, ix: StepIx, other: StepIx) -> bool {
        let (mut open, mut seen) = (vec![ix], BTreeSet::new());
        while let Some(at) = open.pop() {
            let before = self.dependencies(at).map(|dependency| dependency.on);
            open.extend(before.filter(|before| seen.insert(*before)));
        }
        seen.contains(&other)
    }

    /// The parameters that a payload other than that of a schedule fills.
    pub(super) fn filled_by_payloads(&self) -> BTreeSet<String> {
        let triggers = self.playbook().on.iter();
        let foreign =
            triggers.filter(|trigger| !matches!(trigger.source, TriggerSource::Schedule(..)));
        foreign.flat_map(|trigger| &trigger.payload).map(|(param, _)| param.clone()).collect()
    }

    /// For each step the first of the writers that can start before it, and that no approval between them releases.
    /// Each pass over the plan decides about as many writers as a mask has bits.
    fn writers_before(&self, writers: &[StepIx]) -> Vec<Vec<StepIx>> {
        let mut found = vec![Vec::new(); self.steps().len()];
        for block in writers.chunks(Mask::BITS as usize) {
            let mut own: Vec<Mask> = vec![0; self.steps().len()];
            block.iter().enumerate().for_each(|(bit, ix)| own[ix.at()] = 1 << bit);
            let excluded = self.excluded(&own);
            for (at, found) in found.iter_mut().enumerate() {
                let counts = |bit: &usize| (own[at] | excluded[at]) & (1 << bit) == 0;
                let free = WRITERS - found.len();
                found.extend((0..block.len()).filter(counts).map(|bit| block[bit]).take(free));
            }
        }
        found
    }

    /// For each step the writers that only start after it, or that an approval before it releases.
    fn excluded(&self, own: &[Mask]) -> Vec<Mask> {
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
        after.into_iter().zip(released).map(|(after, released)| after | released).collect()
    }
}

impl fmt::Display for ConfinedAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfinedAhead::FromStart => f.write_str("always"),
            ConfinedAhead::Once(step) => write!(f, "once {step} has started"),
            ConfinedAhead::Output(step) => write!(f, "it reads the output of {step}"),
            ConfinedAhead::Triggered(param) => write!(f, "it reads {param} of a trigger"),
        }
    }
}

impl ConfinedAhead {
    /// All causes of a step in one line; `None` if its commands are free.
    pub fn line(causes: &[ConfinedAhead]) -> Option<String> {
        const SHOWN: usize = 3;
        let shown: Vec<String> = causes.iter().take(SHOWN).map(ToString::to_string).collect();
        let more = causes.len().saturating_sub(SHOWN);
        let more = match more {
            0 => String::new(),
            _ if causes.len() >= WRITERS => " and others".to_owned(),
            more => format!(" and {more} more"),
        };
        (!causes.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
    }

    /// The step that could write before.
    fn touched(&self) -> Option<Touched> {
        let ConfinedAhead::Once(step) = self else { return None };
        Some(Touched::by(step.clone()))
    }
}

impl Facts {
    /// Whether commands of the step, of its checks or of its child run can execute what a foreign value says, in the
    /// sandbox, or a tool of it writes such a value: what is in the files of the run is not the work of the author.
    pub fn may_execute_values(&self, plan: &Plan, planned: &PlanStep) -> bool {
        let is_trusted = plan.sandbox_of(planned).when == AuthorSandbox::Never;
        let executes = || self.value_of_commands(plan, planned).is_some();
        if !is_trusted && (executes() || self.writes_values(plan, planned)) {
            return true;
        }
        planned.child().is_some_and(|child| {
            let mut facts = self.of_child(plan, planned);
            child.order().iter().any(|ix| {
                let step = child.step(*ix);
                let executes = facts.may_execute_values(child, step);
                facts.note_output(child, step);
                executes
            })
        })
    }
}
