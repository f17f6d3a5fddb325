//! Triggers with their next times and what became of the last ones.

use super::format::part;
use super::frame;
use crate::serve;
use crate::web::call::Call;
use crate::web::problem::Problem;
use kb_service::trigger::Role;
use serde_json::{Value, json};

/// Number of next times and of fires.
const SHOWN: usize = 5;

/// The page of all triggers.
pub(in crate::web) fn triggers(call: &Call) -> Result<String, Problem> {
    let mut all = Vec::new();
    for project in call.projects()? {
        for view in serve::list(&project.state().project, SHOWN)? {
            let id = &view.id;
            let mut one: Value = serde_json::to_value(&view)
                .map_err(|error| Problem::internal(error.to_string()))?;
            one["api"] = json!(format!("/api/v1/triggers/{}", part(id)));
            one["query"] = json!(call.query_of(&project));
            one["project"] = json!(call.name_of(&project));
            // What is enabled is what was shown.
            one["enable"] = json!(json!({"digest": view.digest}).to_string());
            all.push(one);
        }
    }
    // What starts next comes first; a time in RFC 3339 with `Z` sorts as text.
    let due = |one: &Value| {
        if one["state"] == "enabled" {
            one["next"][0]["at"].as_str().map(str::to_owned)
        } else {
            None
        }
    };
    all.sort_by_cached_key(|one| (due(one).is_none(), due(one)));
    let may = json!({"run": call.has(Role::Run), "enable": call.has(Role::Admin)});
    frame::page(call, "Triggers", "triggers.html", json!({"triggers": all, "may": may}))
}
