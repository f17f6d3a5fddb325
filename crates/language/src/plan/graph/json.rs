//! Drawing for programs.

use crate::plan::{ConfinedStep, ConfinedSteps, Plan};
use kb_base::value::Json;
use serde_json::json;

/// `{"nodes": [{id, kind, label, finally, sandbox, children}], "edges": [{from, to, strength}]}`. Edges point from a step
/// to the steps that depend on it; a step with `finally` runs after all others; `sandbox` has the reasons why its commands
/// will run in the sandbox, and `children` the same for steps of child runs.
pub fn json(plan: &Plan) -> Json {
    let id = |ix| plan.step(ix).step.id.as_str();
    let confined = plan.confined_steps();
    let nodes: Vec<Json> = plan
        .iter()
        .map(|(ix, step)| {
            let label = step.step.details().name.as_deref().unwrap_or(step.step.id.as_str());
            let ConfinedSteps { own, children } = &confined[ix.at()];
            let below =
                |found: &ConfinedStep<'_>| json!({"step": found.path, "sandbox": found.causes});
            let mut node = json!({
                "id": step.step.id.as_str(), "kind": step.step.kind.name(), "label": label,
                "finally": step.is_finally(),
                "sandbox": own.as_ref().map_or(&[][..], |own| &own.causes),
            });
            if !children.is_empty() {
                node["children"] = children.iter().map(below).collect();
            }
            node
        })
        .collect();
    let edges: Vec<Json> = plan
        .iter()
        .flat_map(|(ix, _)| plan.dependencies(ix).map(move |dependency| (ix, dependency)))
        .map(|(ix, dependency)| {
            json!({"from": id(dependency.on), "to": id(ix), "strength": dependency.strength.as_str()})
        })
        .collect();
    json!({"nodes": nodes, "edges": edges})
}
