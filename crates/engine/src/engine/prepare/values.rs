//! The environment, directory, timeout and secrets of the attempts and gates of a step.

use crate::engine::scope::RunScope;
use kb_base::value::Json;
use kb_core::run::{InstanceIx, State};
use kb_language::definition::{ParamType, Step};
use kb_language::expression::{EvalError, Reference, Root};
use kb_language::plan::Plan;
use std::collections::BTreeSet;
use std::time::Duration;

/// Names and references of the secrets that an attempt or gate of the step reads.
pub(in crate::engine) fn secrets(plan: &Plan, params: &Json, step: &Step) -> BTreeSet<String> {
    let playbook = plan.playbook();
    let mut read: Vec<&Reference> = Vec::new();
    let env = playbook.env.iter().chain(&step.details().env);
    read.extend(env.flat_map(|(_, template)| template.references()));
    read.extend(step.details().input.iter().flat_map(|input| input.references()));
    read.extend(step.kind.references().into_iter().flatten());
    let named = read.into_iter().filter_map(|reference| match &reference.root {
        Root::Secret(name) => Some(name.to_string()),
        Root::Param(name) => {
            let declared = playbook.params.iter().find(|param| *param.name == **name)?;
            let reference = params.get(&**name).filter(|_| declared.kind == ParamType::Secret)?;
            reference.as_str().map(str::to_owned)
        }
        Root::Step(_)
        | Root::Params
        | Root::Run
        | Root::Env(_)
        | Root::Item
        | Root::Index
        | Root::Loop => None,
    });
    named.collect()
}

/// The timeout of the step; for specialist steps without one, the timeout of the specialist.
pub(in crate::engine) fn attempt_timeout(
    plan: &Plan,
    state: &State,
    ix: InstanceIx,
) -> Option<Duration> {
    let own = plan.step(state.instance(ix).step).step.details().timeout.attempt;
    own.or_else(|| state.specialist(plan, ix).map(|specialist| specialist.limits.timeout))
}

/// Environment of the playbook and the step. The step overrides the playbook.
pub(super) fn env(scope: &RunScope<'_>, step: &Step) -> Result<Vec<(String, String)>, EvalError> {
    let mut rendered: Vec<(String, String)> = Vec::new();
    for (name, template) in scope.plan.playbook().env.iter().chain(&step.details().env) {
        let value = template.render(scope)?;
        rendered.retain(|(known, _)| known != name);
        rendered.push((name.clone(), value));
    }
    Ok(rendered)
}

pub(super) fn cwd(scope: &RunScope<'_>, step: &Step) -> Result<String, EvalError> {
    step.details().cwd.as_ref().map_or(Ok(String::new()), |cwd| cwd.render(scope))
}
