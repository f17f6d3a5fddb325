//! Playbooks and workflows: list, parameters as JSON Schema, graph.

use crate::web::call::Call;
use crate::web::param::{QueryParam, param};
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get};
use kb_base::value::Json;
use kb_language::plan::graph::json as graph_json;
use kb_service::service::{list_playbooks, params_schema, show_playbook};
use kb_service::trigger::Role;

const PROJECT: QueryParam = param("project", "Only this project.");

pub(super) const ROUTES: &[Route] = &[
    get("/api/v1/playbooks", Role::Read, list, "The valid playbooks and workflows.")
        .query(&[PROJECT]),
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
    ]),
];

fn list(call: &Call) -> Answer {
    let mut all = Vec::new();
    for project in call.projects()? {
        for view in list_playbooks(&project.state().project) {
            let mut view = serde_json::to_value(view).unwrap_or(Json::Null);
            view["project"] = Json::from(project.id.clone());
            all.push(view);
        }
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
    let mut view = serde_json::to_value(sheet.view).unwrap_or(Json::Null);
    view["project"] = Json::from(project.id.clone());
    view["paramsSchema"] = params_schema(&playbook.params);
    view["graph"] = state.project.plan(name).map_or(Json::Null, |plan| graph_json(&plan));
    reply::json(&view)
}
