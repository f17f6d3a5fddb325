//! Playbooks: the list, and one with its plan and the form that starts a run.

use super::format::{cost_range, short};
use super::frame;
use super::graph::graph;
use super::inbox::field;
use crate::web::call::Call;
use crate::web::problem::Problem;
use kb_base::value::json_text;
use kb_service::service::{self, GraphFormat};
use kb_service::trigger::Role;
use serde_json::{Value, json};

/// The page of all playbooks.
pub(in crate::web) fn playbooks(call: &Call) -> Result<String, Problem> {
    let (mut all, mut broken) = (Vec::new(), Vec::new());
    for project in call.projects()? {
        let state = project.state();
        all.extend(service::list_playbooks(&state.project).into_iter().map(|playbook| {
            let description = playbook.description.map(|text| short(&text, 300));
            json!({"id": playbook.id, "description": description, "steps": playbook.steps.len()})
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
        if !state.project.catalog.playbooks.keys().any(|own| own.as_str() == id) {
            continue;
        }
        let sheet = service::show_playbook(&state.project, id)?;
        let plan = service::graph(&state.project, id, GraphFormat::Json);
        let problem = state.project.runnable_plan(id).err().map(|error| error.to_string());
        let plan: Value =
            plan.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let fields = sheet.view.params.iter().map(|param| {
            let options: Vec<String> = param.one_of.iter().map(json_text).collect();
            let help = match param.kind {
                "secret" => Some("env:NAME or file:PATH; never the value itself"),
                _ => param.description.as_deref(),
            };
            let required = param.required && param.default.is_none();
            field(
                &param.name,
                &param.name,
                param.kind,
                required,
                param.default.as_ref(),
                &options,
                help,
            )
        });
        let models = service::plan_models(&state.project, id).unwrap_or_default();
        let steps = sheet.steps.iter().map(|step| {
            let after = step.after.join(", ");
            let model = models.models.get(&step.id);
            json!({
                "id": step.id, "what": short(&step.what, 200), "after": after,
                "finally": step.finally, "model": model, "sandbox": service::ConfinedAhead::line(&step.sandbox),
            })
        });
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
            "fields": fields.collect::<Vec<_>>(),
            "may": call.has(Role::Run),
            "api": "/api/v1/runs",
        });
        return frame::page(call, "Playbooks", "playbook.html", content);
    }
    Err(Problem::not_found(format!("there is no playbook `{}`", super::template::inert(id))))
}
