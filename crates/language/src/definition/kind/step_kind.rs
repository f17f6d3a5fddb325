//! The properties of step kinds that follow from their execution.

use super::execution::{Ask, Effects, Execution};
use super::{StepKind, TaskText};
use crate::definition::gate_check::Check;
use crate::toolspec::ToolSpec;
use kb_base::value::{DefinitionId, SpecialistId};
use std::sync::Arc;

impl StepKind {
    /// The specialist of a `specialist` step.
    pub fn specialist(&self) -> Option<&SpecialistId> {
        match self.execution() {
            Execution::Specialist(id) => Some(id),
            Execution::Child(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Gate(_)
            | Execution::Ask(_)
            | Execution::Wait(_) => None,
        }
    }

    /// The playbook of a step that drives a child run.
    pub fn child(&self) -> Option<&DefinitionId> {
        match self.execution() {
            Execution::Child(id) => Some(id),
            Execution::Specialist(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Gate(_)
            | Execution::Ask(_)
            | Execution::Wait(_) => None,
        }
    }

    /// The checks of a step that consists of its gate.
    pub fn checks(&self) -> Option<&[Check]> {
        match self.execution() {
            Execution::Gate(checks) => Some(checks),
            Execution::Specialist(_)
            | Execution::Child(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Ask(_)
            | Execution::Wait(_) => None,
        }
    }

    /// What a step that waits for a person asks.
    pub fn question(&self) -> Option<Ask<'_>> {
        match self.execution() {
            Execution::Ask(ask) => Some(ask),
            Execution::Specialist(_)
            | Execution::Child(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Gate(_)
            | Execution::Wait(_) => None,
        }
    }

    /// What an attempt does outside, apart from specialists and child runs.
    pub fn effects(&self) -> Effects {
        match self.execution() {
            Execution::Attempt(effects) => effects,
            Execution::Specialist(_)
            | Execution::Child(_)
            | Execution::Compute(_)
            | Execution::Gate(_)
            | Execution::Ask(_)
            | Execution::Wait(_) => Effects::default(),
        }
    }

    /// Whether a specialist does the work, so that claims are checked and reworks are possible.
    pub fn is_specialist(&self) -> bool {
        self.specialist().is_some()
    }

    /// Whether it waits for a person.
    pub fn needs_person(&self) -> bool {
        self.question().is_some()
    }

    /// Whether it waits for a person or a time, and so holds no slot.
    pub fn is_waiting(&self) -> bool {
        match self.execution() {
            Execution::Ask(_) | Execution::Wait(_) => true,
            Execution::Specialist(_)
            | Execution::Child(_)
            | Execution::Attempt(_)
            | Execution::Compute(_)
            | Execution::Gate(_) => false,
        }
    }

    /// The tool of a `tool` step.
    pub fn tool(&self) -> Option<&Arc<ToolSpec>> {
        let StepKind::Tool(step) = self else { return None };
        Some(&step.tool)
    }

    /// The task of a specialist step, if it is not in `input`.
    pub fn task(&self) -> Option<&TaskText> {
        let StepKind::Specialist(step) = self else { return None };
        step.task.as_ref()
    }

    /// The path of the file with its task.
    pub fn task_file(&self) -> Option<&str> {
        match self.task()? {
            TaskText::File { path, .. } => Some(path),
            TaskText::Inline(_) => None,
        }
    }
}
