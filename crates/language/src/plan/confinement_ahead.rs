//! Which steps of a plan, and of the child runs that it starts, will run their commands in the sandbox, as far as the
//! definitions say.

use super::confined::{Confined, Facts, ForeignValue, Touched};
use super::writers::WRITERS;
use super::{Plan, PlanStep, StepIx};
use crate::definition::{AuthorSandbox, NetworkAccess, StepKind, StepSandbox, TriggerSource};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// The number of child runs that are followed: a few definitions that start each other twice lead to thousands.
const CHILDREN: usize = 256;

/// Why the commands of a step will run in the sandbox. A step is named as in [`ConfinedStep::path`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ConfinedAhead {
    /// From the start of the run: the step says so.
    FromStart,
    /// Once this step has started.
    Once(Box<str>),
    /// They read the output of this step.
    Output(Box<str>),
    /// In a run that a trigger started: they read this parameter, which the payload fills.
    Triggered(Box<str>),
    /// In a child run: they read this parameter, and the step that starts it passes a foreign value.
    Given(Box<str>),
}

/// A step whose commands will run in the sandbox.
#[derive(Debug)]
pub struct ConfinedStep<'p> {
    /// The plan of the step: the one that was asked, or that of a child run.
    pub plan: &'p Plan,
    /// The step in it.
    pub ix: StepIx,
    /// Its id, after those of the steps that start the child run, as in `deploy/push`.
    pub path: String,
    /// What confines its commands; never empty.
    pub causes: Vec<ConfinedAhead>,
    /// The network that its commands can use.
    pub network: NetworkAccess,
}

impl<'p> ConfinedStep<'p> {
    /// The step.
    pub fn planned(&self) -> &'p PlanStep {
        self.plan.step(self.ix)
    }
}

/// A step, and those of the child runs that it starts, as far as their commands will run in the sandbox.
#[derive(Debug, Default)]
pub struct ConfinedSteps<'p> {
    /// The step itself.
    pub own: Option<ConfinedStep<'p>>,
    /// The steps of its child runs, and of all runs below them.
    pub children: Vec<ConfinedStep<'p>>,
}

/// What is known when a run of a plan starts.
#[derive(Default)]
struct Before {
    /// The path of the step that starts it, with a slash at the end; empty for the first run.
    path: String,
    /// The steps above that could write to the files, and the network that they open for what follows.
    writers: Writers,
    /// If a person started the first run.
    by_hand: Facts,
    /// If a trigger started it.
    triggered: Facts,
}

#[derive(Default, Clone)]
struct Writers {
    first: Option<Touched>,
    once: Vec<ConfinedAhead>,
}

/// What the definitions say about a step.
#[derive(Default)]
struct Ahead {
    causes: Vec<ConfinedAhead>,
    network: NetworkAccess,
    /// For its child run.
    child: Option<Box<Before>>,
}

impl Plan {
    /// Why the commands of each step will run in the sandbox, by [`StepIx`]; nothing for a step whose commands are
    /// free, that has none, or that belongs to a specialist, whose commands always do. It follows the rule of
    /// [`Facts::confined`]. What a run that this one continues, or its parent, knows is not part of it. Of each step, at
    /// most 20 steps that could write before it are named.
    pub fn confined_ahead(&self) -> Vec<Vec<ConfinedAhead>> {
        self.ahead(&self.before_first()).into_iter().map(|ahead| ahead.causes).collect()
    }

    /// The same with the steps of child runs, by [`StepIx`].
    pub fn confined_steps(&self) -> Vec<ConfinedSteps<'_>> {
        self.confined_below(&self.before_first(), &mut 0)
    }

    fn confined_below(&self, before: &Before, followed: &mut usize) -> Vec<ConfinedSteps<'_>> {
        let mut all = Vec::with_capacity(self.steps().len());
        for ((ix, planned), ahead) in self.iter().zip(self.ahead(before)) {
            let Ahead { causes, network, child } = ahead;
            let path = format!("{}{}", before.path, planned.step.id);
            let own = ConfinedStep { plan: self, ix, path, causes, network };
            let own = Some(own).filter(|own| !own.causes.is_empty());
            let below = planned.child().zip(child).filter(|_| *followed < CHILDREN);
            let children = below.map(|(plan, before)| {
                *followed += 1;
                let steps = plan.confined_below(&before, followed).into_iter();
                steps.flat_map(|step| step.own.into_iter().chain(step.children)).collect()
            });
            all.push(ConfinedSteps { own, children: children.unwrap_or_default() });
        }
        all
    }

    fn before_first(&self) -> Before {
        let triggered = Facts { foreign_params: self.filled_by_payloads(), ..Facts::default() };
        Before { triggered, ..Before::default() }
    }

    fn ahead(&self, before: &Before) -> Vec<Ahead> {
        let mut all: Vec<Ahead> = self.steps().iter().map(|_| Ahead::default()).collect();
        let (mut by_hand, mut triggered) = (before.by_hand.clone(), before.triggered.clone());
        let own = self.writers_before(&self.writers(&triggered).steps);
        let released = self.released();
        for &ix in self.order() {
            let planned = self.step(ix);
            // A later pass of a loop reads what an earlier one left.
            let facts = [&mut by_hand, &mut triggered];
            facts.into_iter().for_each(|facts| facts.note_output(self, planned));
            let StepSandbox { when, opening } = self.sandbox_of(planned);
            let writers = match when {
                AuthorSandbox::Auto if planned.specialist.is_none() => {
                    let above = Some(&before.writers).filter(|_| !released[ix.at()]);
                    self.writers_of(above, &own[ix.at()], &before.path)
                }
                AuthorSandbox::Auto | AuthorSandbox::Always | AuthorSandbox::Never => {
                    Writers::default()
                }
            };
            let ahead = &mut all[ix.at()];
            if planned.child().is_some() {
                ahead.child = Some(Box::new(Before {
                    path: format!("{}{}/", before.path, planned.step.id),
                    writers: writers.clone(),
                    by_hand: by_hand.of_child(self, planned),
                    triggered: triggered.of_child(self, planned),
                }));
            }
            let touched = writers.first.clone();
            if planned.specialist.is_none() && planned.step.starts_commands() {
                ahead.network = touched.as_ref().map_or(opening.network, |found| found.network);
                ahead.causes = self.causes(ix, (&by_hand, &triggered), writers, &before.path);
            }
            for facts in [&mut by_hand, &mut triggered] {
                facts.touched = touched.clone();
                facts.note_output(self, planned);
                facts.touched = None;
            }
        }
        all
    }

    /// The steps that could write before a step: those above, and some of its plan.
    fn writers_of(&self, above: Option<&Writers>, own: &[StepIx], path: &str) -> Writers {
        let mut writers = above.cloned().unwrap_or_default();
        for &ix in own {
            let PlanStep { step, specialist, .. } = self.step(ix);
            let network = specialist.as_ref().map_or(NetworkAccess::default(), |own| own.network);
            let touched = writers
                .first
                .get_or_insert_with(|| Touched { network, ..Touched::by(step.id.clone()) });
            touched.network = touched.network.wider(network);
            writers.once.push(ConfinedAhead::Once(format!("{path}{}", step.id).into()));
        }
        writers.once.truncate(WRITERS);
        writers
    }

    /// For each step whether an approval before it releases what was written before the run.
    fn released(&self) -> Vec<bool> {
        let mut released = vec![false; self.steps().len()];
        for &ix in self.order() {
            released[ix.at()] = self.dependencies(ix).any(|dependency| {
                let step = &self.step(dependency.on).step;
                released[dependency.on.at()] || matches!(step.kind, StepKind::Approve(_))
            });
        }
        released
    }

    fn causes(
        &self,
        ix: StepIx,
        (by_hand, triggered): (&Facts, &Facts),
        writers: Writers,
        path: &str,
    ) -> Vec<ConfinedAhead> {
        let planned = self.step(ix);
        match self.sandbox_of(planned).when {
            AuthorSandbox::Never => return Vec::new(),
            AuthorSandbox::Always => return vec![ConfinedAhead::FromStart],
            AuthorSandbox::Auto => {}
        }
        let value = |facts: &Facts| match facts.confined(self, planned) {
            Some(Confined::Value(ForeignValue::Output(step))) => {
                Some(ConfinedAhead::Output(format!("{path}{step}").into()))
            }
            Some(Confined::Value(ForeignValue::Param(name))) if path.is_empty() => {
                Some(ConfinedAhead::Triggered(name))
            }
            Some(Confined::Value(ForeignValue::Param(name))) => Some(ConfinedAhead::Given(name)),
            // Which secrets are foreign is known when a run starts.
            Some(
                Confined::Always { .. }
                | Confined::Touched(_)
                | Confined::Value(ForeignValue::Secret(_)),
            )
            | None => None,
        };
        let value = value(by_hand).or_else(|| value(triggered));
        value.into_iter().chain(writers.once).collect()
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
            ConfinedAhead::Given(param) => write!(f, "it reads the foreign value of {param}"),
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
