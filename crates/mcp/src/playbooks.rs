//! The tools for playbooks and workflows.

use crate::answer::Answer;
use crate::arguments::{Id, Nothing, StartRun, refused};
use crate::runs;
use crate::session::Session;
use kb_attempt::run_blocking;
use kb_base::value::{Json, RunId};
use kb_language::definition::{ParamType, Playbook};
use kb_serve::serve;
use kb_service::service::{
    Project, ResourceKind, ServiceError, list_playbooks, params_schema, show_playbook,
};
use kb_service::trigger::MCP_TRIGGER;
use serde_json::json;
use std::sync::Arc;

/// The longest key of a start, in bytes.
const MAX_KEY: usize = 255;

/// The resource with the list of playbooks.
pub(crate) const LIST_URI: &str = "kb://playbooks";

pub(crate) async fn list(session: &Session, _: Nothing) -> Result<Answer, ServiceError> {
    Ok(Answer::of(&listed(&session.project()?), LIST_URI))
}

/// All valid playbooks and workflows.
pub(crate) fn listed(project: &Project) -> Json {
    json!({"playbooks": list_playbooks(project), "invalid": project.broken_files().len()})
}

pub(crate) async fn show(session: &Session, args: Id) -> Result<Answer, ServiceError> {
    let sheet = sheet(&session.project()?, &args.id)?;
    Ok(Answer::of(&sheet, &format!("kb://playbook/{}", args.id)))
}

/// One playbook with the JSON Schema of its parameters.
pub(crate) fn sheet(project: &Project, id: &str) -> Result<Json, ServiceError> {
    let schema = params_schema(&named(project, id)?.params);
    Ok(json!({"playbook": show_playbook(project, id)?.view, "paramsSchema": schema}))
}

/// A playbook by its id. On the command line a name may be a path; here it is not.
fn named(project: &Project, id: &str) -> Result<Arc<Playbook>, ServiceError> {
    let all = &project.catalog.playbooks;
    let unknown =
        || ServiceError::unknown(ResourceKind::Playbook, id, all.keys().map(ToString::to_string));
    all.get(id).cloned().ok_or_else(|| project.broken(id).unwrap_or_else(unknown))
}

/// Records the start and starts its process. What the client gives is foreign to the author of the playbook.
pub(crate) async fn run(session: &Session, args: StartRun) -> Result<Answer, ServiceError> {
    let project = session.project()?;
    let playbook = named(&project, &args.id)?;
    let secret = playbook.params.iter().find(|param| {
        param.kind == ParamType::Secret && args.params.contains_key(param.name.as_str())
    });
    if let Some(param) = secret {
        let message =
            format!("the parameter `{}` is a secret, and a client gives none", param.name);
        return Err(refused(message, "give it a default in the playbook, such as `env:NAME`"));
    }
    let fits =
        |key: &String| (1..=MAX_KEY).contains(&key.len()) && !key.chars().any(char::is_control);
    if args.key.as_ref().is_some_and(|key| !fits(key)) {
        let message = format!("`key` has 1 to {MAX_KEY} bytes and no control characters");
        return Err(refused(message, "leave it out for a new run"));
    }
    let key = args.key.unwrap_or_else(|| serve::unique_key(MCP_TRIGGER, project.clock().wall()));
    let started = run_blocking(|| {
        let fired = serve::start(&project, MCP_TRIGGER, &args.id, args.params, &key)?;
        let run = RunId::new(fired.run.as_str())
            .map_err(|error| refused(error.to_string(), "use another key"))?;
        if let Some(daemon) = session.daemon() {
            daemon.wake();
            return Ok(fired);
        }
        // A server that was killed may have recorded the start without its process. The journal creates the run once.
        if !fired.repeated || runs::is_missing(session, &project.context, &run)? {
            session.start(project.context.clone(), run, &args.id)?;
        }
        Ok::<_, ServiceError>(fired)
    })?;
    let next =
        format!("run_show {{\"run\": \"{}\", \"waitMs\": 25000}} waits for its end", started.run);
    let uri = format!("kb://run/{}", started.run);
    Ok(Answer::of(&json!({"run": started.run, "repeated": started.repeated, "next": next}), &uri))
}
