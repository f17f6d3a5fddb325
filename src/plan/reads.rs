use crate::definition::{Check, Playbook, RunCommand, Step, StepKind, TaskText, WaitStep};
use crate::expression::{Expression, Reference, Root, Template, ValueTemplate};
use crate::value::StepId;

/// Which of a step's texts a read stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadContext {
    /// Its own condition.
    Condition,
    /// Anything that its work is made of; these reads order it.
    Work,
    /// Its gate, which looks back and orders nothing.
    Verify,
}

/// A read of another step, or of the step itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read<'a> {
    /// In which text.
    pub(super) context: ReadContext,
    /// Reads of the same text have the same number.
    pub(super) text: u32,
    /// What is read.
    pub(super) step: &'a StepId,
    /// How.
    pub(super) reference: &'a Reference,
}

impl Read<'_> {
    /// The field of the step that is read; `None` is the step as a whole.
    pub(super) fn field(&self) -> Option<&str> {
        self.reference.field()
    }
}

/// Every read of a step that a step's texts make.
pub(super) fn of_step(step: &Step) -> Vec<Read<'_>> {
    let mut found = Collector::new(ReadContext::Condition);
    step.condition.iter().for_each(|condition| found.expression(condition));
    found.context = ReadContext::Work;
    found.work(step);
    found.context = ReadContext::Verify;
    step.verify.iter().flat_map(|verify| &verify.checks).for_each(|check| found.check(check));
    found.reads
}

/// Every read of a step that the playbook's outputs make.
pub(super) fn of_outputs(playbook: &Playbook) -> Vec<Read<'_>> {
    let mut found = Collector::new(ReadContext::Verify);
    playbook.outputs.iter().for_each(|(_, value)| found.value(value));
    found.reads
}

struct Collector<'a> {
    context: ReadContext,
    text: u32,
    reads: Vec<Read<'a>>,
}

impl<'a> Collector<'a> {
    fn new(context: ReadContext) -> Self {
        Collector { context, text: 0, reads: Vec::new() }
    }

    fn add(&mut self, references: impl IntoIterator<Item = &'a Reference>) {
        let (context, text) = (self.context, self.text);
        self.reads.extend(references.into_iter().filter_map(|reference| match &reference.root {
            Root::Step(step) => Some(Read { context, text, step, reference }),
            _ => None,
        }));
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

    fn work(&mut self, step: &'a Step) {
        step.details().input.iter().for_each(|input| self.value(input));
        step.details().env.iter().for_each(|(_, value)| self.template(value));
        step.details().cwd.iter().for_each(|cwd| self.template(cwd));
        if let Some(each) = &step.for_each {
            self.value(&each.items);
            each.key.iter().for_each(|key| self.template(key));
        }
        self.kind(&step.kind);
    }

    fn kind(&mut self, kind: &'a StepKind) {
        match kind {
            StepKind::Specialist { task, .. } => {
                if let Some(TaskText::Inline(task)) = task.as_deref() {
                    self.template(task);
                }
            }
            StepKind::Run { command: RunCommand::Argv(words), .. } => {
                words.iter().for_each(|word| self.template(word));
            }
            StepKind::Http(http) => {
                self.template(&http.url);
                http.headers.iter().for_each(|(_, value)| self.template(value));
                http.query.iter().for_each(|(_, value)| self.value(value));
                http.body.iter().for_each(|body| self.value(body));
            }
            StepKind::Set(values) => values.iter().for_each(|(_, value)| self.value(value)),
            // The checks of a `gate` step are its work, so unlike those of `verify` they order it.
            StepKind::Gate(checks) => checks.iter().for_each(|check| self.check(check)),
            StepKind::Ask(ask) => self.template(&ask.question),
            StepKind::Approve(approve) => self.template(&approve.message),
            StepKind::Wait(wait) => match &**wait {
                WaitStep::Until(time) => self.template(time),
                WaitStep::For(_) => {}
            },
            StepKind::Run { .. } | StepKind::Tool { .. } | StepKind::NotYet(_) => {}
        }
    }

    fn check(&mut self, check: &'a Check) {
        check.references().into_iter().for_each(|references| self.add(references));
    }
}
