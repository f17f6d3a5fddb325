//! Steps that name a capability in place of a specialist.

use super::kind::{SpecialistStep, StepKind};
use super::{Playbook, Specialist};
use kb_base::value::SpecialistId;
use std::collections::BTreeMap;
use std::sync::Arc;

type Specialists = BTreeMap<SpecialistId, Arc<Specialist>>;

/// Gives each step of a playbook that names a capability the only specialist that has it. A step with none or several
/// stays as it is, which the plan reports.
pub(super) fn resolve(playbook: &mut Playbook, specialists: &Specialists) {
    let is_open =
        |kind: &StepKind| matches!(kind, StepKind::Specialist(task) if task.by_capability);
    for step in playbook.steps.iter_mut().chain(&mut playbook.finally) {
        if is_open(&step.kind)
            && let StepKind::Specialist(task) = &mut Arc::make_mut(step).kind
        {
            choose(task, specialists);
        }
    }
}

fn choose(task: &mut SpecialistStep, specialists: &Specialists) {
    let Some((name, _)) = &task.capability else { return };
    let (found, is_callable) = candidates(name, specialists);
    if let [one] = &*found {
        task.specialist = one.id.clone();
        task.by_capability = false;
        // A name without a task and schemas of its own has chosen the specialist, and says no more.
        task.capability = task.capability.take().filter(|_| is_callable);
    }
}

/// The specialists with a capability, and whether steps can call it: those that define it as a map, else those that
/// name it, whatever the case.
pub(crate) fn candidates<'s>(
    name: &str,
    specialists: &'s Specialists,
) -> (Vec<&'s Arc<Specialist>>, bool) {
    let all = || specialists.values();
    let callable: Vec<_> =
        all().filter(|own| own.callable.iter().any(|known| known.name == name)).collect();
    if !callable.is_empty() {
        return (callable, true);
    }
    let lower = name.to_lowercase();
    let is_named =
        |own: &&Arc<Specialist>| own.capabilities.iter().any(|known| known.to_lowercase() == lower);
    (all().filter(is_named).collect(), false)
}
