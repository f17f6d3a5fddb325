//! Playbooks: the list, and one with its plan and the form that starts a run.

use super::form_fields::fields;
use super::format::{cost_range, short};
use super::frame;
use super::graph::graph;
use crate::serve::{self, TriggerStateName};
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::web::state::WebProject;
use kb_base::value::{Json, RunId};
use kb_engine::inspect::run_params;
use kb_service::service::{self, GraphFormat, params_schema};
use kb_service::trigger::Role;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The page of all playbooks.
pub(in crate::web) fn playbooks(call: &Call) -> Result<String, Problem> {
    let (mut all, mut broken) = (Vec::new(), Vec::new());
    for project in call.projects()? {
        let state = project.state();
        let (mut last, mut next) = (BTreeMap::new(), BTreeMap::new());
        for row in project.shared.journal.list()? {
            let newest = last.entry(row.definition.clone()).or_insert_with(|| row.clone());
            if newest.started_at < row.started_at {
                *newest = row;
            }
        }
        for trigger in serve::list(&state.project, 1)? {
            if trigger.state == TriggerStateName::Enabled
                && let Some(time) = trigger.next.first().map(|time| time.at.clone())
            {
                let first = next.entry(trigger.playbook).or_insert_with(|| time.clone());
                *first = time.min(first.clone());
            }
        }
        all.extend(service::list_playbooks(&state.project).into_iter().map(|playbook| {
            let description = playbook.description.map(|text| short(&text, 300));
            let last = last.get(&playbook.id).map(|row| {
                json!({"run": row.run.as_str(), "status": row.status, "at": row.started_at.rfc3339()})
            });
            json!({
                "id": playbook.id, "description": description, "steps": playbook.steps.len(),
                "last": last, "next": next.get(&playbook.id),
                "project": call.name_of(&project),
            })
        }));
        broken.extend(state.project.broken_files().into_iter().map(|file| {
            let (code, message) = file.first;
            json!({"path": file.path, "message": format!("{code}: {message}")})
        }));
    }
    let content = json!({"playbooks": all, "broken": broken});
    frame::page(call, "Playbooks", "playbooks.html", content)
}

/// The page of one playbook.
pub(in crate::web) fn playbook(call: &Call) -> Result<String, Problem> {
    let id = call.path("playbook");
    for project in call.projects()? {
        let state = project.state();
        let Some(playbook) = state.project.catalog.playbooks.get(id).cloned() else { continue };
        let sheet = service::show_playbook(&state.project, id)?;
        let plan = service::graph(&state.project, id, GraphFormat::Json);
        let problem = state.project.runnable_plan(id).err().map(|error| error.to_string());
        let plan: Value =
            plan.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let given = call.query.get("from").map(|run| values_of(&project, run)).transpose()?;
        let schema = params_schema(&playbook.params);
        let fields = fields(&schema, given.as_ref());
        let models = service::plan_models(&state.project, id).unwrap_or_default();
        let steps = sheet.steps.iter().map(|step| {
            let after = step.after.join(", ");
            let model = models.models.get(&step.id);
            let child = |child: &service::ConfinedChild| {
                json!({"step": child.step, "sandbox": service::ConfinedAhead::line(&child.sandbox)})
            };
            json!({
                "id": step.id, "what": short(&step.what, 200), "after": after,
                "finally": step.finally, "model": model, "sandbox": service::ConfinedAhead::line(&step.sandbox),
                "children": step.children.iter().map(child).collect::<Vec<_>>(),
            })
        });
        let query = call.query_of(&project);
        let cost = match models.cost {
            _ if models.models.is_empty() => None,
            None => Some("unknown: a model or its price is missing".to_owned()),
            Some(cost) => Some(cost_range(cost.min_usd, cost.max_usd)),
        };
        let content = json!({
            "playbook": {
                "id": sheet.view.id,
                "description": sheet.view.description,
                "path": sheet.view.path,
            },
            "problem": problem,
            "graph": graph(&plan, None, None),
            "steps": steps.collect::<Vec<_>>(),
            "cost": cost,
            "fields": fields.unwrap_or_default(),
            "from": call.query.get("from"),
            "may": call.has(Role::Run),
            "api": format!("/api/v1/runs{query}"),
            "query": query,
        });
        return frame::page(call, "Playbooks", "playbook.html", content);
    }
    Err(Problem::not_found(format!("there is no playbook `{}`", super::template::inert(id))))
}

/// The parameter values of an earlier run.
fn values_of(project: &WebProject, run: &str) -> Result<Json, Problem> {
    let unknown =
        || Problem::not_found(format!("there is no run `{}`", super::template::inert(run)));
    let id = RunId::new(run).map_err(|_| unknown())?;
    run_params(&*project.shared.journal, &id).map(Json::Object).map_err(|_| unknown())
}
