//! Secrets that exist only as the default of a parameter: checked before the run is created, where a step
//! surely reads them. A step that may not run may do without.

use super::ProjectContext;
use crate::definition::{StepKind, StepPhase};
use crate::diagnostic::{Diagnostic, Sources};
use crate::expression::{Reference, Root};
use crate::plan::{Plan, StepIx};
use crate::service::ServiceError;
use crate::service::params::SecretSources;
use crate::value::{JsonMap, StepId};
use std::collections::BTreeSet;

/// Fails with all defaults that give no value although a step needs them. The steps in `idle` do not run.
pub(super) fn check(
    plan: &Plan,
    params: &JsonMap,
    idle: &BTreeSet<&StepId>,
    context: &ProjectContext,
    sources: &Sources,
) -> Result<(), ServiceError> {
    if context.doubles.stubs.is_some() {
        return Ok(());
    }
    let read = read_names(plan, idle);
    let secrets = SecretSources { variables: &context.environment.variables, root: &context.root };
    let playbook = plan.playbook();
    let used = playbook.params.iter().filter(|param| {
        let is_default = param.default.as_ref() == params.get(&param.name);
        is_default && read.contains(param.name.as_str())
    });
    let diagnostics: Vec<Diagnostic> =
        used.filter_map(|param| secrets.check_default(param)).collect();
    match diagnostics.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::Definitions { diagnostics, sources: Box::new(sources.clone()) }),
    }
}

/// The parameters that steps read which run if nothing fails: without a condition of their own or of a step
/// before them.
fn read_names<'p>(plan: &'p Plan, idle: &BTreeSet<&StepId>) -> BTreeSet<&'p str> {
    let mut certain: BTreeSet<StepIx> = BTreeSet::new();
    let mut read = BTreeSet::new();
    for ix in plan.order() {
        let planned = plan.step(*ix);
        let after = plan.dependencies(*ix).all(|before| certain.contains(&before.on));
        let own = planned.step.condition.is_none() && planned.step.phase != StepPhase::Finally;
        if !(own && after) {
            continue;
        }
        certain.insert(*ix);
        if !idle.contains(&planned.step.id) {
            read.extend(planned.references().filter_map(param_of));
            let common = plan
                .playbook()
                .env
                .iter()
                .filter(|_| matches!(planned.step.kind, StepKind::Run(_)));
            read.extend(common.flat_map(|(_, value)| value.references()).filter_map(param_of));
        }
    }
    read
}

/// The parameter that a reference needs; `default(…)` does without.
fn param_of(reference: &Reference) -> Option<&str> {
    if reference.guarded {
        return None;
    }
    match &reference.root {
        Root::Param(name) => Some(name),
        Root::Params => reference.field(),
        Root::Step(_)
        | Root::Run
        | Root::Env(_)
        | Root::Secret(_)
        | Root::Item
        | Root::Index
        | Root::Loop => None,
    }
}
