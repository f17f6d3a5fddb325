//! Whether the commands of a step run in the sandbox, and why: one rule over the plan and the [`Facts`] of a run.

use super::{Plan, PlanStep, StepIx, reads};
use crate::definition::{
    AuthorSandbox, Check, Execution, NetworkAccess, SandboxOpening, Step, StepKind, StepSandbox,
};
use crate::expression::{Reference, Root, ValueTemplate};
use kb_base::value::{RunId, StepId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why commands of the author of a playbook run in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confined {
    /// The definition of the step, or the settings, say so.
    Always {
        /// What the sandbox opens.
        opening: Arc<SandboxOpening>,
        /// Whether others could write to the files, or a command reads a foreign value.
        is_foreign: bool,
    },
    /// A step of the run could write to the files of the run.
    Touched(Touched),
    /// A command reads a foreign value.
    Value(ForeignValue),
}

/// A step that could write to the files of a run, and whose work does not come from the author: one of a specialist,
/// or one whose commands read a foreign value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// The step that could write.
    pub step: StepId,
    /// The earlier run that the step belongs to; `None`: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The first file that it is known to have changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The widest network of the specialists that could write.
    pub network: NetworkAccess,
    /// Whether it, or a command in the sandbox after it, could write what no difference shows: data of the repository,
    /// or files outside of the project.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unshown: bool,
}

impl Touched {
    /// One that wrote to the project at most, with the default network.
    pub fn by(step: StepId) -> Touched {
        let network = NetworkAccess::default();
        Touched { step, run: None, path: None, network, unshown: false }
    }

    /// The same for a run that follows on this one.
    #[must_use]
    pub fn in_run(self, run: &RunId) -> Touched {
        Touched { run: self.run.or_else(|| Some(run.clone())), ..self }
    }

    /// Whether it is this step of the run itself.
    pub fn is_own(&self, step: &StepId) -> bool {
        self.run.is_none() && self.step == *step
    }

    /// The step, and the run if it is another one, for messages.
    pub fn place(&self) -> String {
        let run = self.run.as_ref().map(|run| format!(" of run `{run}`"));
        format!("step `{}`{}", self.step, run.unwrap_or_default())
    }
}

/// A value that neither the author nor the person who started the run wrote: of a model, a server, the payload of a
/// trigger, or a command that ran in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForeignValue {
    /// The output of a step.
    Output(StepId),
    /// A parameter.
    Param(Box<str>),
    /// A secret whose command runs in the sandbox.
    Secret(Box<str>),
}

/// What is known of a run: who could write to its files, and which of its values are foreign. Nothing but an approval
/// by a person takes a fact back, and only that about the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// The first step that could write to the files, since a person has read the changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched: Option<Touched>,
    /// The steps whose output is foreign.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub foreign_outputs: BTreeSet<StepId>,
    /// The parameters whose value is foreign.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub foreign_params: BTreeSet<String>,
    /// The secrets whose command executes what models could write.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub foreign_secrets: BTreeSet<String>,
}

impl Confined {
    /// What the sandbox opens.
    pub fn opening(&self) -> Arc<SandboxOpening> {
        match self {
            Confined::Always { opening, .. } => opening.clone(),
            Confined::Touched(touched) => Arc::new(touched.network.into()),
            Confined::Value(_) => Arc::default(),
        }
    }

    /// Whether what the commands execute may not be the work of the author.
    pub fn is_foreign(&self) -> bool {
        match self {
            Confined::Always { is_foreign, .. } => *is_foreign,
            Confined::Touched(_) | Confined::Value(_) => true,
        }
    }
}

impl Facts {
    /// Whether the commands of a step of the author run in the sandbox, and why. Those of a specialist always do.
    pub fn confined(&self, plan: &Plan, planned: &PlanStep) -> Option<Confined> {
        self.confined_by(plan, planned, &|ix| plan.writer_beside(ix, self))
    }

    fn confined_by(
        &self,
        plan: &Plan,
        planned: &PlanStep,
        beside: &dyn Fn(StepIx) -> Option<StepId>,
    ) -> Option<Confined> {
        if planned.specialist.is_some() {
            return None;
        }
        let value = || self.value_of_commands(plan, planned).map(Confined::Value);
        let StepSandbox { when, opening } = plan.sandbox_of(planned);
        match when {
            AuthorSandbox::Auto => match &self.touched {
                // Its own value is the reason that it counts as one that could write.
                Some(touched) if touched.is_own(&planned.step.id) => {
                    value().or_else(|| Some(Confined::Touched(touched.clone())))
                }
                Some(touched) => Some(Confined::Touched(touched.clone())),
                None => value().or_else(|| {
                    let writer = beside(plan.find(planned.step.id.as_str())?);
                    writer.map(|writer| Confined::Touched(Touched::by(writer)))
                }),
            },
            AuthorSandbox::Always => {
                let is_foreign = self.touched.is_some() || value().is_some();
                Some(Confined::Always { opening, is_foreign })
            }
            AuthorSandbox::Never => None,
        }
    }

    /// Adds the output of a step, if it is foreign by what is known when the step starts or ends.
    pub fn note_output(&mut self, plan: &Plan, planned: &PlanStep) {
        self.note_output_if(planned, |facts| {
            facts.has_foreign_output(plan, planned, &|ix| plan.writer_beside(ix, facts))
        });
    }

    /// The same for a step after those that can write; what can write beside it is not known yet.
    pub(super) fn note_output_after_writers(&mut self, plan: &Plan, planned: &PlanStep) {
        self.note_output_if(planned, |facts| facts.has_foreign_output(plan, planned, &|_| None));
    }

    fn note_output_if(&mut self, planned: &PlanStep, is_foreign: impl FnOnce(&Facts) -> bool) {
        let id = &planned.step.id;
        if !self.foreign_outputs.contains(id) && is_foreign(self) {
            self.foreign_outputs.insert(id.clone());
        }
    }

    /// Adds the facts of another run about the same files and values.
    pub fn add(&mut self, other: &Facts) {
        self.touched = self.touched.take().or_else(|| other.touched.clone());
        self.foreign_outputs.extend(other.foreign_outputs.iter().cloned());
        self.foreign_params.extend(other.foreign_params.iter().cloned());
        self.foreign_secrets.extend(other.foreign_secrets.iter().cloned());
    }

    /// What is known of the values of a child run when it starts. Its parent knows who could write to its files.
    pub fn of_child(&self, plan: &Plan, planned: &PlanStep) -> Facts {
        let StepKind::Playbook(call) = &planned.step.kind else { return Facts::default() };
        let is_foreign = |value: &ValueTemplate| {
            value
                .references()
                .iter()
                .any(|found| self.foreign(plan, &planned.step, found).is_some())
        };
        let foreign = call.with.iter().filter(|given| is_foreign(&given.value));
        Facts {
            touched: None,
            foreign_outputs: BTreeSet::new(),
            foreign_params: foreign.map(|given| given.name.clone()).collect(),
            foreign_secrets: self.foreign_secrets.clone(),
        }
    }

    fn has_foreign_output(
        &self,
        plan: &Plan,
        planned: &PlanStep,
        beside: &dyn Fn(StepIx) -> Option<StepId>,
    ) -> bool {
        let step = &planned.step;
        let follows = || {
            let mut read = reads::of_output(step).into_iter();
            read.any(|found| self.foreign(plan, step, found).is_some())
        };
        match step.kind.execution() {
            Execution::Ask(_) => false,
            Execution::Compute(_) | Execution::Wait(_) => follows(),
            Execution::Specialist(_)
            | Execution::Attempt(_)
            | Execution::Child(_)
            | Execution::Gate(_) => {
                is_source(plan, planned)
                    || self.confined_by(plan, planned, beside).is_some()
                    || follows()
            }
        }
    }

    /// Whether a text of a step can have a foreign value.
    fn has_foreign_values(&self) -> bool {
        let Facts { foreign_outputs, foreign_params, foreign_secrets, .. } = self;
        !(foreign_outputs.is_empty() && foreign_params.is_empty() && foreign_secrets.is_empty())
    }

    /// The first foreign value that a command of the step can read: in its arguments, its environment, its working
    /// directory, or its input.
    pub(super) fn value_of_commands(
        &self,
        plan: &Plan,
        planned: &PlanStep,
    ) -> Option<ForeignValue> {
        let step = &*planned.step;
        if !self.has_foreign_values() {
            return None;
        }
        if !step.starts_commands() {
            return None;
        }
        let of_playbook = plan.playbook().env.iter().flat_map(|(_, value)| value.references());
        let mut all = of_playbook.chain(reads::of_commands(step));
        all.find_map(|found| self.foreign(plan, step, found))
    }

    /// Whether a tool that the author calls writes files, and its input has a foreign value.
    pub(super) fn writes_values(&self, plan: &Plan, planned: &PlanStep) -> bool {
        let step = &*planned.step;
        let input = || step.details().input.iter().flat_map(|input| input.references());
        planned.specialist.is_none()
            && step.kind.effects().writes
            && input().any(|found| self.foreign(plan, step, found).is_some())
    }

    /// The foreign value that a reference in a text of a step reads.
    fn foreign(&self, plan: &Plan, step: &Step, reference: &Reference) -> Option<ForeignValue> {
        self.foreign_within(plan, step, reference, &mut Vec::new())
    }

    /// The same, where the values of these variables are being read: one that reads itself has none.
    fn foreign_within<'s>(
        &self,
        plan: &'s Plan,
        step: &'s Step,
        reference: &'s Reference,
        variables: &mut Vec<&'s str>,
    ) -> Option<ForeignValue> {
        let output = |id: &StepId| {
            self.foreign_outputs.contains(id).then(|| ForeignValue::Output(id.clone()))
        };
        let param =
            || self.foreign_params.first().map(|name| ForeignValue::Param(name.as_str().into()));
        match &reference.root {
            // One of a few names that `kb` chooses.
            Root::Step(_) if matches!(reference.field(), Some("status" | "verdict")) => None,
            Root::Step(id) => output(id),
            Root::Loop => output(&step.id),
            Root::Param(name) => {
                self.foreign_params.contains(&**name).then(|| ForeignValue::Param(name.clone()))
            }
            Root::Params => param(),
            Root::Item => {
                let items = reads::of_items(step).into_iter();
                let mut others = items.filter(|found| found.root != Root::Item);
                others.find_map(|found| self.foreign_within(plan, step, found, variables))
            }
            // The text of an error has what a model or a command said, and names of items.
            Root::Run if !matches!(reference.field(), Some("id" | "status")) => {
                let first = self.foreign_outputs.first();
                first.map(|id| ForeignValue::Output(id.clone())).or_else(param)
            }
            // A variable of the step goes before one of the playbook.
            Root::Env(name) if !variables.contains(&&**name) => {
                variables.push(name);
                let mut declared = step.details().env.iter().chain(&plan.playbook().env);
                let (_, value) = declared.find(|(declared, _)| **declared == **name)?;
                let mut read = value.references();
                read.find_map(|found| self.foreign_within(plan, step, found, variables))
            }
            Root::Secret(name) => {
                self.foreign_secrets.contains(&**name).then(|| ForeignValue::Secret(name.clone()))
            }
            Root::Run | Root::Env(_) | Root::Index => None,
        }
    }
}

/// Whether the output of a step is foreign whatever it reads.
fn is_source(plan: &Plan, planned: &PlanStep) -> bool {
    if planned.step.starts_commands() && plan.sandbox_of(planned).when == AuthorSandbox::Always {
        return true;
    }
    match planned.step.kind.execution() {
        Execution::Specialist(_) => true,
        Execution::Attempt(effects) => effects.reads_others,
        Execution::Child(_) => planned
            .child()
            .is_some_and(|child| child.steps().iter().any(|step| is_source(child, step))),
        Execution::Compute(_) | Execution::Gate(_) | Execution::Ask(_) | Execution::Wait(_) => {
            false
        }
    }
}

impl Step {
    /// Whether the step starts commands of the author: as its work or in its checks.
    pub fn starts_commands(&self) -> bool {
        self.kind.effects().starts_processes || self.checks().iter().any(Check::is_command)
    }
}
