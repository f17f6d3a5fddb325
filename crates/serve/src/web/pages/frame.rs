//! What all pages share: navigation, the number of open questions, problems of projects.

use super::format::part;
use super::template;
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::web::state::WebProject;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The pages of the navigation: name and path.
const PAGES: [(&str, &str); 7] = [
    ("Runs", "/"),
    ("Goals", "/goals"),
    ("Inbox", "/inbox"),
    ("Triggers", "/triggers"),
    ("Playbooks", "/playbooks"),
    ("Memory", "/memory"),
    ("System", "/system"),
];

/// Renders a page of the navigation.
pub(super) fn page(
    call: &Call,
    here: &'static str,
    name: &str,
    content: impl Serialize,
) -> Result<String, Problem> {
    let projects = call.projects()?;
    let waiting: usize = projects.iter().map(open_questions).sum();
    let chosen = call.query.get("project");
    let path = |path: &str, project: Option<&str>| match project {
        None => path.to_owned(),
        Some(project) => format!("{path}?project={}", part(project)),
    };
    let links = PAGES.iter().map(|(label, own)| {
        let count = (*label == "Inbox" && waiting > 0).then_some(waiting);
        json!({"label": label, "path": path(own, chosen), "here": *label == here, "count": count})
    });
    let own = PAGES.iter().find(|(label, _)| *label == here).map_or("/", |(_, path)| path);
    let switch = |label: &str, project: Option<&str>| json!({"label": label, "path": path(own, project), "here": chosen == project});
    let visible = call.visible_projects();
    let mut switches = Vec::new();
    if visible.len() > 1 {
        switches.push(switch("all projects", None));
        switches.extend(visible.iter().map(|project| switch(&project.id, Some(&project.id))));
    }
    let problem = projects.iter().find_map(|project| project.state().problem);
    let mut all = serde_json::to_value(content)
        .map_err(|error| Problem::internal(format!("the page cannot be made: {error}")))?;
    all["page"] = json!({
        "name": here,
        "nav": links.collect::<Vec<Value>>(),
        "project": chosen,
        "projects": switches,
        "problem": problem,
    });
    template::render(name, &all)
}

/// The page of a problem.
pub(in crate::web) fn problem(problem: &Problem) -> Result<String, Problem> {
    let link = |(label, path): (&str, &str)| json!({"label": label, "path": path, "here": false, "count": null});
    let page = json!({"name": "", "nav": PAGES.map(link), "project": null, "projects": [], "problem": null});
    let content = json!({
        "page": page, "title": problem.title, "status": problem.status, "detail": problem.detail,
        "help": problem.help, "code": problem.code,
    });
    template::render("problem.html", &content)
}

fn open_questions(project: &Arc<WebProject>) -> usize {
    project.shared.journal.waiting().map_or(0, |runs| runs.len())
}

/// The project that has a run, and the id of the run. Fails if no project of the caller has it.
pub(super) fn find_run(call: &Call, name: &str) -> Result<(Arc<WebProject>, String), Problem> {
    for project in call.projects()? {
        // Only whole ids: an address must not come to mean another run.
        let Ok(id) = kb_base::value::RunId::new(name) else { break };
        if project.shared.journal.run(&id).is_ok() {
            return Ok((project, id.to_string()));
        }
    }
    Err(Problem::not_found(format!("there is no run `{}`", template::inert(name))))
}
