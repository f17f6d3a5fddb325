//! The attempts of specialists in a recorded run: who did which task, and what came of it.

use super::{Frozen, InspectError};
use crate::journal::{Journal, StoredEvent};
use kb_base::value::{OutcomeKind, RunId, Tier, Timestamp, Usage};
use kb_core::evidence::Verdict;
use kb_core::run::{Event, InstanceIx, State};
use kb_language::definition::TaskText;
use kb_language::plan::Plan;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one attempt of a specialist was, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecialistAttempt {
    /// The step or item.
    pub instance: String,
    /// Id of the specialist, also after a switch.
    pub specialist: String,
    /// Its tier, also after an escalation; `None` if a model is named directly.
    pub tier: Option<Tier>,
    /// The task, if it has no placeholders, or the path of its file, and the id of the step.
    pub task: String,
    /// Number of the attempt in its iteration, from 1.
    pub attempt: u32,
    /// How the attempt ended, before its gate.
    pub outcome: OutcomeKind,
    /// Verdict of its gate; `None` if none was given.
    pub verdict: Option<Verdict>,
    /// Tokens and cost, with those of its gate.
    pub usage: Usage,
    /// Milliseconds from its start to its verdict, or to its end.
    pub ms: u64,
}

/// The attempts of specialists of one run that have ended, in the order of their ends. Child runs are runs of their own.
///
/// # Errors
///
/// The run or its definitions cannot be read.
pub fn specialist_attempts(
    journal: &Arc<dyn Journal>,
    run: &RunId,
) -> Result<Vec<SpecialistAttempt>, InspectError> {
    let frozen = Frozen::of_run(&**journal, run)?;
    let (catalog, plan) = frozen.load()?;
    let state = State::new(&plan, frozen.rules(catalog.settings.undecided()));
    let mut fold = Fold { plan: &plan, state, open: BTreeMap::new(), ended: Vec::new() };
    for StoredEvent { at, event, .. } in journal.events(run, 0)? {
        fold.add(at, &event);
    }
    Ok(fold.ended)
}

struct Fold<'p> {
    plan: &'p Plan,
    state: State,
    /// When the attempt of an instance started.
    open: BTreeMap<InstanceIx, (Timestamp, u32)>,
    ended: Vec<SpecialistAttempt>,
}

impl Fold<'_> {
    fn add(&mut self, at: Timestamp, event: &Event) {
        if let Event::Started { instance, attempt } = event {
            self.open.insert(*instance, (at, *attempt));
        }
        if let Event::AttemptEnded { instance, outcome, usage, .. } = event
            && let Some((began, attempt)) = self.open.get(instance).copied()
        {
            let ended = self.attempt(*instance, (began, at), (attempt, *outcome, *usage));
            self.ended.extend(ended);
        }
        if let Event::Judged { instance, verification, .. } = event {
            let key = self.state.key(self.plan, *instance).to_string();
            let began = self.open.get(instance).map(|(began, _)| *began);
            if let Some(last) = self.ended.iter_mut().rev().find(|own| own.instance == key) {
                last.verdict = Some(verification.verdict);
                last.usage += verification.usage;
                last.ms = began.map_or(last.ms, |began| at.since(began).as_millis() as u64);
            }
        }
        self.state.apply(self.plan, at, event);
    }

    /// The attempt that ends; `None` if no specialist worked, or if a stored result was taken.
    fn attempt(
        &self,
        ix: InstanceIx,
        (began, at): (Timestamp, Timestamp),
        (attempt, outcome, usage): (u32, OutcomeKind, Usage),
    ) -> Option<SpecialistAttempt> {
        let specialist = self.state.specialist(self.plan, ix)?;
        let instance = self.state.instance(ix);
        let step = &self.plan.step(instance.step).step;
        if instance.cached_from().is_some() {
            return None;
        }
        // A text with placeholders says less than the name of its step.
        let task = match step.kind.task() {
            Some(TaskText::Inline(template)) => template.as_literal().unwrap_or_default(),
            Some(TaskText::File { path, .. }) => path,
            None => "",
        };
        let own = specialist.model.model.is_none().then_some(specialist.model.tier);
        Some(SpecialistAttempt {
            instance: self.state.key(self.plan, ix).to_string(),
            specialist: specialist.id.to_string(),
            tier: instance.variation().tier.or(own),
            task: format!("{task} {}", step.id).trim_start().to_owned(),
            attempt,
            outcome,
            verdict: None,
            usage,
            ms: at.since(began).as_millis() as u64,
        })
    }
}
