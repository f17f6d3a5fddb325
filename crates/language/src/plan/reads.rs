//! Reads of steps: every reference in a text of a step to another step.

use crate::definition::{Check, ItemSource, Matrix, Playbook, Step, Until};
use crate::expression::{Expression, Reference, Root, Template, ValueTemplate};
use kb_base::value::StepId;

/// The kind of text that contains a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadContext {
    /// The condition of the step.
    Condition,
    /// The work of the step. These reads create dependencies.
    Work,
    /// The gate. These reads create no dependencies, nor do those below.
    Verify,
    /// The condition of a loop.
    Until,
    /// What an item adds to the output of its step.
    Collect,
}

impl ReadContext {
    /// The name of a text that is evaluated after the work of its step.
    pub(super) fn after_work(self) -> Option<&'static str> {
        match self {
            ReadContext::Condition | ReadContext::Work => None,
            ReadContext::Verify => Some("the gate"),
            ReadContext::Until => Some("`until`"),
            ReadContext::Collect => Some("`collect`"),
        }
    }
}

/// A reference from a text of one step to another step or to itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read<'a> {
    /// The kind of text.
    pub(super) context: ReadContext,
    /// Number of the text; reads of the same text have the same number.
    pub(super) text: u32,
    /// The step that is read.
    pub(super) step: &'a StepId,
    /// The reference in the text.
    pub(super) reference: &'a Reference,
}

impl Read<'_> {
    /// The field that is read; `None` for the whole step.
    pub(super) fn field(&self) -> Option<&str> {
        self.reference.field()
    }
}

/// All reads of steps in the texts of a step.
pub(super) fn of_step(step: &Step) -> Vec<Read<'_>> {
    of_texts(step).reads()
}

/// The steps that `dependsOn` and references in the condition and the work of a step name: it starts after them.
pub fn steps_before(step: &Step) -> impl Iterator<Item = &StepId> {
    let reads = of_step(step).into_iter().filter(|read| read.context.after_work().is_none());
    step.depends_on.iter().map(|(id, _)| id).chain(reads.map(|read| read.step))
}

/// All references in the texts of a step.
pub(super) fn references(step: &Step) -> impl Iterator<Item = &Reference> {
    of_texts(step).found.into_iter().map(|(_, _, reference)| reference)
}

/// The references in the work of a step, each with the number of its text.
pub(super) fn of_work(step: &Step) -> Vec<(u32, &Reference)> {
    let found = of_texts(step).found.into_iter();
    let found = found.filter(|(context, ..)| *context == ReadContext::Work);
    found.map(|(_, text, reference)| (text, reference)).collect()
}

/// The references whose values can be part of the output of a step, of its verdict or of its error: all but those of
/// its condition.
pub(super) fn of_output(step: &Step) -> Vec<&Reference> {
    let found = of_texts(step).found.into_iter();
    let found = found.filter(|(context, ..)| *context != ReadContext::Condition);
    found.map(|(_, _, reference)| reference).collect()
}

/// The references whose values the commands of a step get: arguments, input, variables and the working directory.
pub(super) fn of_commands(step: &Step) -> Vec<&Reference> {
    let mut found = Collector::new(ReadContext::Work);
    found.place(step);
    if step.kind.effects().starts_processes {
        found.own(step);
    }
    step.checks().iter().filter(|check| check.is_command()).for_each(|check| found.check(check));
    found.found.into_iter().map(|(_, _, reference)| reference).collect()
}

/// The references in the source of the items of a step.
pub(super) fn of_items(step: &Step) -> Vec<&Reference> {
    let mut found = Collector::new(ReadContext::Work);
    step.for_each.iter().for_each(|each| found.items(&each.items));
    found.found.into_iter().map(|(_, _, reference)| reference).collect()
}

fn of_texts(step: &Step) -> Collector<'_> {
    let mut found = Collector::new(ReadContext::Condition);
    step.condition.iter().for_each(|condition| found.expression(condition));
    found.context = ReadContext::Work;
    found.work(step);
    found.context = ReadContext::Until;
    let repeat = step.details().repeat.as_deref();
    if let Some(Until::Expression(until)) = repeat.map(|repeat| &repeat.until) {
        found.expression(until);
    }
    found.context = ReadContext::Collect;
    let collect = step.for_each.iter().filter_map(|each| each.collect.as_ref());
    collect.for_each(|value| found.value(value));
    found.context = ReadContext::Verify;
    step.verify().iter().flat_map(|verify| &verify.checks).for_each(|check| found.check(check));
    found
}

/// All reads of steps in the outputs of a playbook.
pub(super) fn of_outputs(playbook: &Playbook) -> Vec<Read<'_>> {
    let mut found = Collector::new(ReadContext::Verify);
    playbook.outputs.iter().for_each(|(_, value)| found.value(value));
    found.reads()
}

struct Collector<'a> {
    context: ReadContext,
    text: u32,
    found: Vec<(ReadContext, u32, &'a Reference)>,
}

impl<'a> Collector<'a> {
    fn new(context: ReadContext) -> Self {
        Collector { context, text: 0, found: Vec::new() }
    }

    /// The references to steps.
    fn reads(self) -> Vec<Read<'a>> {
        let all = self.found.into_iter();
        let read = |(context, text, reference): (_, _, &'a Reference)| match &reference.root {
            Root::Step(step) => Some(Read { context, text, step, reference }),
            _ => None,
        };
        all.filter_map(read).collect()
    }

    fn add(&mut self, references: impl IntoIterator<Item = &'a Reference>) {
        let (context, text) = (self.context, self.text);
        self.found.extend(references.into_iter().map(|reference| (context, text, reference)));
        self.text += 1;
    }

    fn expression(&mut self, expression: &'a Expression) {
        self.add(expression.references());
    }

    fn template(&mut self, template: &'a Template) {
        self.add(template.references());
    }

    fn value(&mut self, value: &'a ValueTemplate) {
        self.add(value.references());
    }

    fn items(&mut self, items: &'a ItemSource) {
        match items {
            ItemSource::Value(value) => self.value(value),
            ItemSource::Files(globs) => globs.iter().for_each(|glob| self.template(glob)),
            ItemSource::Lines(path) => self.template(path),
            ItemSource::Matrix(Matrix { axes, include, exclude }) => {
                axes.iter().for_each(|(_, values)| self.value(values));
                include.iter().chain(exclude).for_each(|cells| self.value(cells));
            }
        }
    }

    fn place(&mut self, step: &'a Step) {
        step.details().env.iter().for_each(|(_, value)| self.template(value));
        step.details().cwd.iter().for_each(|cwd| self.template(cwd));
    }

    fn own(&mut self, step: &'a Step) {
        step.details().input.iter().for_each(|input| self.value(input));
        step.kind.references().into_iter().for_each(|references| self.add(references));
    }

    fn work(&mut self, step: &'a Step) {
        self.own(step);
        self.place(step);
        step.details().cache.iter().for_each(|cache| self.add(cache.references()));
        if let Some(each) = &step.for_each {
            self.items(&each.items);
            each.key.iter().for_each(|key| self.template(key));
        }
    }

    fn check(&mut self, check: &'a Check) {
        check.references().into_iter().for_each(|references| self.add(references));
    }
}
