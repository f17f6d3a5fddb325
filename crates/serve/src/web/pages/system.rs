//! What the daemon runs on: projects, checks, tokens, notifications.

use super::format::number;
use super::frame;
use crate::serve;
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::web::secret::token_state;
use kb_base::value::Timestamp;
use kb_service::service::{Project, doctor};
use kb_service::trigger::Role;
use serde_json::{Value, json};
use std::sync::Arc;

/// The page of the system. Checks of models are left to `kb doctor --call`.
pub(in crate::web) fn system(call: &Call) -> Result<String, Problem> {
    let now = call.now();
    let (mut projects, mut tokens) = (Vec::new(), Vec::new());
    for project in call.projects()? {
        let (shared, state) = (&project.shared, project.state());
        let findings = findings(&state.project);
        let notifications = serve::notifications(&state.project, 10)?;
        let counted = shared.telemetry.counted();
        let fact = |name: &str, value: String| json!({"name": name, "value": value});
        let on = shared.store.states()?.len();
        projects.push(json!({
            "id": project.id,
            "root": shared.context.root.display().to_string(),
            "problem": state.problem,
            "facts": [
                fact("Runs", number(shared.journal.list()?.len() as u64)),
                fact("Playbooks", number(state.project.catalog.playbooks.len() as u64)),
                fact("Triggers", format!("{} ({on} enabled once)", state.triggers.len())),
                fact("State folder", shared.context.state_dir.display().to_string()),
                fact("On disk", size(&shared.context.state_dir)),
            ],
            "traces": counted.problem,
            "findings": findings,
            "notifications": notifications,
        }));
        if call.has(Role::Admin) {
            tokens.extend(shared.store.tokens()?.into_iter().map(|token| {
                json!({
                    "name": token.name,
                    "role": token.role.as_str(),
                    "state": token_state(&token, now),
                    "expires": token.expires_at.map(Timestamp::rfc3339),
                })
            }));
        }
    }
    let role = call.identity.as_ref().map_or("", |identity| identity.role.as_str());
    let sessions = if call.has(Role::Admin) { call.state.sessions().all(now) } else { Vec::new() };
    let sessions: Vec<Value> = sessions
        .iter()
        .map(|session| {
            let by = if session.token.is_some() { "a token" } else { "`kb serve --open`" };
            json!({"role": session.role.as_str(), "by": by, "expires": session.expires.rfc3339()})
        })
        .collect();
    let content = json!({
        "sessions": sessions,
        "version": env!("CARGO_PKG_VERSION"), "user": call.user(), "role": role,
        "projects": projects, "tokens": tokens,
    });
    frame::page(call, "System", "system.html", content)
}

fn findings(project: &Arc<Project>) -> Vec<Value> {
    let environment = &project.context.environment;
    let own = kb_service::service::Environment {
        cwd: project.context.root.clone(),
        ..environment.clone()
    };
    let runtime = tokio::runtime::Handle::current();
    let found = runtime.block_on(doctor(Project::find(&own), false));
    let line = |finding: kb_service::service::Finding| {
        json!({
            "level": finding.level, "subject": finding.subject, "message": finding.message,
            "help": finding.help,
        })
    };
    found.into_iter().map(line).collect()
}

/// The size of the files in a folder and in its folders.
fn size(folder: &std::path::Path) -> String {
    let mut open = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => open.push(entry.path()),
                Ok(found) => bytes += found.len(),
                Err(_) => {}
            }
        }
    }
    match bytes {
        0..=1_048_575 => format!("{} KiB", bytes / 1024),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
