//! What the verdicts on the dependencies of a step say of files.

use super::scope::RunScope;
use kb_attempt::Relied;
use kb_core::run::InstanceIx;
use kb_core::verify::ReliedFact;

/// Maximum number of facts that are compared again before a step.
const COMPARED: usize = 500;

/// What passed claims and checks of the dependencies of a step say of files.
pub(super) fn relied(scope: &RunScope<'_>, ix: InstanceIx) -> Vec<Relied> {
    let step = scope.state.instance(ix).step;
    let mut found = Vec::new();
    for dependency in scope.plan.dependencies(step) {
        let on = InstanceIx(dependency.on.at() as u32);
        let Some(verification) = scope.state.instance(on).verification() else { continue };
        if !verification.holds() {
            continue;
        }
        let id = &scope.plan.step(dependency.on).step.id;
        let facts = ReliedFact::of(verification).into_iter();
        found.extend(facts.map(|fact| Relied { step: id.clone(), fact }));
        found.truncate(COMPARED);
    }
    found
}
