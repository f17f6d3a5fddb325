//! Which steps of a plan will run their commands in the sandbox, as far as the definition says.

use super::confined::{Confined, Facts, ForeignValue, Touched};
use super::writers::WRITERS;
use super::{Plan, PlanStep, StepIx};
use crate::definition::{AuthorSandbox, TriggerSource};
use kb_base::value::StepId;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

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
        let mut once = self.writers_before(&self.writers(&triggered).steps);
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
            // Which secrets are foreign is known when a run starts.
            Some(
                Confined::Always { .. }
                | Confined::Touched(_)
                | Confined::Value(ForeignValue::Secret(_)),
            )
            | None => None,
        };
        let mut causes: Vec<ConfinedAhead> =
            value(by_hand).or_else(|| value(triggered)).into_iter().collect();
        causes
            .extend(once.into_iter().map(|ix| ConfinedAhead::Once(self.step(ix).step.id.clone())));
        causes
    }

    /// The parameters that a payload other than that of a schedule fills.
    pub(super) fn filled_by_payloads(&self) -> BTreeSet<String> {
        let triggers = self.playbook().on.iter();
        let foreign =
            triggers.filter(|trigger| !matches!(trigger.source, TriggerSource::Schedule(..)));
        foreign.flat_map(|trigger| &trigger.payload).map(|(param, _)| param.clone()).collect()
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
