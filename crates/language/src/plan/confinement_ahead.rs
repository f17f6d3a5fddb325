//! Which steps of a plan will run their commands in the sandbox, as far as the definition says.

use super::confined::{Confined, Facts, ForeignValue, Touched};
use super::{Plan, PlanStep, StepIx};
use crate::definition::{AuthorSandbox, NetworkAccess, StepKind, TriggerSource};
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
    /// [`Facts::confined`]. What a run that this one continues, or its parent, knows is not part of it.
    pub fn confined_ahead(&self) -> Vec<Vec<ConfinedAhead>> {
        let mut causes = vec![Vec::new(); self.steps().len()];
        let mut by_hand = Facts::default();
        let mut triggered = Facts { foreign_params: self.filled_by_payloads(), ..Facts::default() };
        let mut writers = BTreeSet::new();
        let mut values = triggered.clone();
        for &ix in self.order() {
            let planned = self.step(ix);
            let executes = values.may_execute_values(self, planned);
            if executes || planned.has_writing_specialist() {
                writers.insert(ix);
            }
            values.note_output(self, planned);
        }
        for &ix in self.order() {
            let planned = self.step(ix);
            if planned.specialist.is_none() && planned.step.starts_commands() {
                causes[ix.at()] = self.causes(ix, &by_hand, &triggered, &writers);
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
        writers: &BTreeSet<StepIx>,
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
            Some(Confined::Always(_) | Confined::Touched(_)) | None => None,
        };
        let mut causes: Vec<ConfinedAhead> =
            value(by_hand).or_else(|| value(triggered)).into_iter().collect();
        let others = writers.iter().filter(|writer| **writer != ix);
        let others: Vec<StepIx> = others.copied().collect();
        if !others.is_empty() {
            let (before, after) = (self.ancestors(ix), self.descendants(ix));
            let is_approve =
                |ix: &&StepIx| matches!(self.step(**ix).step.kind, StepKind::Approve(_));
            let released: BTreeSet<StepIx> =
                before.iter().filter(is_approve).flat_map(|ix| self.ancestors(*ix)).collect();
            let counts = |writer: &StepIx| !after.contains(writer) && !released.contains(writer);
            let once = others.into_iter().filter(counts);
            causes.extend(once.map(|ix| ConfinedAhead::Once(self.step(ix).step.id.clone())));
        }
        causes
    }

    /// The parameters that a payload other than that of a schedule fills.
    pub(super) fn filled_by_payloads(&self) -> BTreeSet<String> {
        let triggers = self.playbook().on.iter();
        let foreign =
            triggers.filter(|trigger| !matches!(trigger.source, TriggerSource::Schedule(..)));
        foreign.flat_map(|trigger| &trigger.payload).map(|(param, _)| param.clone()).collect()
    }

    fn ancestors(&self, ix: StepIx) -> BTreeSet<StepIx> {
        closure(ix, |ix| self.dependencies(ix).map(|dependency| dependency.on).collect())
    }

    fn descendants(&self, ix: StepIx) -> BTreeSet<StepIx> {
        closure(ix, |ix| self.dependents(ix).map(|dependent| dependent.step).collect())
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
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        (!causes.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
    }

    /// The step that could write before.
    fn touched(&self) -> Option<Touched> {
        let ConfinedAhead::Once(step) = self else { return None };
        Some(Touched { step: step.clone(), path: None, network: NetworkAccess::default() })
    }
}

impl Facts {
    /// Whether commands of the step, of its checks or of its child run can execute what a foreign value says, in the
    /// sandbox, or a tool of it writes such a value: what is in the files of the run is not the work of the author.
    pub fn may_execute_values(&self, plan: &Plan, planned: &PlanStep) -> bool {
        let is_trusted = plan.sandbox_of(planned).when == AuthorSandbox::Never;
        let executes = || self.value_of_commands(plan, planned).is_some();
        if !is_trusted && (executes() || self.writes_values(planned)) {
            return true;
        }
        planned.child().is_some_and(|child| {
            let mut facts = Facts { touched: None, ..self.of_child(planned) };
            child.order().iter().any(|ix| {
                let step = child.step(*ix);
                let executes = facts.may_execute_values(child, step);
                facts.note_output(child, step);
                executes
            })
        })
    }
}

/// All that is reached from a step, without the step itself.
fn closure(from: StepIx, next: impl Fn(StepIx) -> Vec<StepIx>) -> BTreeSet<StepIx> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(ix) = open.pop() {
        open.extend(next(ix).into_iter().filter(|ix| found.insert(*ix)));
    }
    found
}
