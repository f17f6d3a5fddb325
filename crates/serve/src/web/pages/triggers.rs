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
    let several = call.visible_projects().len() > 1;
    let mut all = Vec::new();
    for project in call.projects()? {
        for view in serve::list(&project.state().project, SHOWN)? {
            let id = &view.id;
            let mut one: Value = serde_json::to_value(&view)
                .map_err(|error| Problem::internal(error.to_string()))?;
            for (name, empty) in [
                ("paused", Value::Null),
                ("problem", Value::Null),
                ("delayed", Value::Null),
                ("zone", Value::Null),
                ("changed", Value::Null),
                ("next", json!([])),
                ("fires", json!([])),
            ] {
                if one.get(name).is_none() {
                    one[name] = empty;
                }
            }
            if one["changed"].is_object() && one["changed"].get("by").is_none() {
                one["changed"]["by"] = Value::Null;
            }
            for list in ["next", "fires"] {
                for entry in one[list].as_array_mut().into_iter().flatten() {
                    for name in ["note", "run", "reason", "by"] {
                        if entry.get(name).is_none() {
                            entry[name] = Value::Null;
                        }
                    }
                }
            }
            let project = several.then_some(&project.id);
            let query = project.map(|id| format!("?project={}", part(id))).unwrap_or_default();
            one["api"] = json!(format!("/api/v1/triggers/{}", part(id)));
            one["query"] = json!(query);
            one["project"] = json!(project);
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
