//! Playbooks and workflows: list, parameters as JSON Schema, graph.

use crate::web::answers::{OfProject, PlaybookSheet};
use crate::web::call::Call;
use crate::web::param::PROJECT;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get};
use kb_base::value::Json;
use kb_core::wire::DefinitionView;
use kb_language::plan::graph::json as graph_json;
use kb_service::service::{list_playbooks, params_schema, show_playbook};
use kb_service::trigger::Role;

pub(super) const ROUTES: &[Route] = &[
    get("/api/v1/playbooks", Role::Read, list, "The valid playbooks and workflows.")
        .query(&[PROJECT])
        .returns(|all| all.subschema_for::<Vec<OfProject<DefinitionView>>>()),
    get(
        "/api/v1/playbooks/{playbook}",
        Role::Read,
        show,
        "A playbook with the JSON Schema of its parameters and its graph.",
    )
    .query(&[PROJECT])
    .answers(&[
        (200, "As of `kb playbook show --json`, with `paramsSchema` and `graph`."),
        (404, "There is no such playbook."),
        (422, "Its definition has errors."),
    ])
    .returns(|all| all.subschema_for::<PlaybookSheet<DefinitionView>>()),
];

fn list(call: &Call) -> Answer {
    let mut all = Vec::new();
    for project in call.projects()? {
        let of = |value| OfProject { project: project.id.clone(), value };
        all.extend(list_playbooks(&project.state().project).into_iter().map(of));
    }
    reply::json(&all)
}

fn show(call: &Call) -> Answer {
    let name = call.path("playbook");
    let has = |project: &crate::web::state::WebProject| {
        project.state().project.catalog.playbooks.contains_key(name)
    };
    let project = call.project_with(&format!("the playbook `{name}`"), has)?;
    let state = project.state();
    let Some(playbook) = state.project.catalog.playbooks.get(name).cloned() else {
        let broken = state.project.broken(name).map(Problem::from);
        return Err(
            broken.unwrap_or_else(|| Problem::not_found(format!("there is no playbook `{name}`")))
        );
    };
    let sheet = show_playbook(&state.project, name)?;
    reply::json(&PlaybookSheet {
        project: project.id.clone(),
        definition: sheet.view,
        params_schema: params_schema(&playbook.params),
        graph: state.project.plan(name).map_or(Json::Null, |plan| graph_json(&plan)),
    })
}
