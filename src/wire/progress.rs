use super::event::Place;
use crate::definition::StepKind;
use crate::evidence::Verdict;
use crate::plan::{Plan, PlanStep};
use crate::run::{InstanceIx, Payload, StepStatus};
use crate::value::{Failure, InstanceKey, StepId, Tier, Timestamp, Usage};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A step as events describe it.
#[derive(Debug, Clone)]
pub(super) struct StepCard {
    pub(super) id: StepId,
    pub(super) kind: &'static str,
    pub(super) specialist: Option<String>,
    pub(super) tier: Option<Tier>,
    pub(super) is_finally: bool,
}

impl StepCard {
    fn of(step: &PlanStep) -> StepCard {
        let named = match &step.step.kind {
            StepKind::Specialist { specialist, .. } => Some(specialist.to_string()),
            _ => None,
        };
        StepCard {
            id: step.step.id.clone(),
            kind: step.step.kind.name(),
            specialist: named,
            tier: step.specialist.as_ref().map(|specialist| specialist.model.tier),
            is_finally: step.is_finally(),
        }
    }
}

/// What is folded of one instance: only what later events of it need.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    pub(super) step: usize,
    pub(super) parent: Option<InstanceIx>,
    pub(super) name: Arc<str>,
    pub(super) iteration: u32,
    pub(super) attempt: u32,
    pub(super) status: StepStatus,
    pub(super) began: Option<Timestamp>,
    pub(super) attempt_began: Option<Timestamp>,
    pub(super) usage: Usage,
    pub(super) output: Option<Payload>,
    pub(super) failure: Option<Failure>,
    pub(super) verdict: Option<Verdict>,
    pub(super) stdout_cut: Option<u64>,
}

impl Progress {
    fn new(step: usize, parent: Option<InstanceIx>, name: Arc<str>, iteration: u32) -> Progress {
        Progress {
            step,
            parent,
            name,
            iteration,
            attempt: 0,
            status: StepStatus::Pending,
            began: None,
            attempt_began: None,
            usage: Usage::NONE,
            output: None,
            failure: None,
            verdict: None,
            stdout_cut: None,
        }
    }

    /// The next iteration; nothing of the last one is left.
    pub(super) fn restart(&mut self) {
        *self = Progress::new(self.step, self.parent, self.name.clone(), self.iteration + 1);
    }
}

/// All instances of a run, folded.
#[derive(Debug, Clone)]
pub(super) struct Board {
    pub(super) cards: Vec<StepCard>,
    instances: Vec<Progress>,
}

impl Board {
    pub(super) fn of(plan: &Plan) -> Board {
        let cards: Vec<StepCard> = plan.steps().iter().map(StepCard::of).collect();
        let root =
            |(i, card): (usize, &StepCard)| Progress::new(i, None, card.id.as_str().into(), 1);
        let instances = cards.iter().enumerate().map(root).collect();
        Board { cards, instances }
    }

    pub(super) fn get(&self, ix: InstanceIx) -> Option<&Progress> {
        self.instances.get(ix.at())
    }

    pub(super) fn get_mut(&mut self, ix: InstanceIx) -> Option<&mut Progress> {
        self.instances.get_mut(ix.at())
    }

    /// Adds the items of an expansion; they begin in the iteration of their step.
    pub(super) fn expand(&mut self, parent: InstanceIx, keys: &[String]) {
        let Some(above) = self.get(parent) else { return };
        let (step, iteration) = (above.step, above.iteration);
        let id = self.cards[step].id.clone();
        self.instances.extend(keys.iter().map(|key| {
            let name = InstanceKey::item(id.clone(), key.as_str()).to_string();
            Progress::new(step, Some(parent), name.into(), iteration)
        }));
    }

    /// Adds what an attempt took to its instance, and to the step that it is an item of.
    pub(super) fn spend(&mut self, ix: InstanceIx, usage: Usage) {
        let mut at = Some(ix);
        while let Some(progress) = at.and_then(|ix| self.instances.get_mut(ix.at())) {
            progress.usage += usage;
            at = progress.parent;
        }
    }

    pub(super) fn name(&self, ix: InstanceIx) -> String {
        self.get(ix).map_or_else(|| format!("#{}", ix.0), |progress| progress.name.to_string())
    }

    pub(super) fn names(&self, all: &[InstanceIx]) -> Vec<String> {
        all.iter().map(|&ix| self.name(ix)).collect()
    }

    pub(super) fn place(&self, ix: InstanceIx) -> Option<Place> {
        let progress = self.get(ix)?;
        Some(Place {
            step: self.cards[progress.step].id.clone(),
            instance: progress.name.clone(),
            iteration: progress.iteration,
            attempt: (progress.attempt > 0).then_some(progress.attempt),
        })
    }

    /// Steps, not items, by status.
    pub(super) fn counts(&self) -> BTreeMap<&'static str, u32> {
        let mut counts = BTreeMap::new();
        for progress in &self.instances[..self.cards.len()] {
            *counts.entry(progress.status.as_str()).or_default() += 1;
        }
        counts
    }

    /// Instances that wait for a person.
    pub(super) fn instances(&self) -> impl Iterator<Item = (InstanceIx, &Progress)> {
        self.instances.iter().enumerate().map(|(i, progress)| (InstanceIx(i as u32), progress))
    }
}
