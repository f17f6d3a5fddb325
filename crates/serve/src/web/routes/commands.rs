//! Runs: start, cancel, resume, retry. Nothing takes a definition or a path: a start names a definition of
//! the project.

use crate::serve::{self, RunCommand};
use crate::web::answers::{RunRef, StartedRun};
use crate::web::call::Call;
use crate::web::param::PROJECT;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, post};
use crate::web::state::WebProject;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use kb_base::diagnostic::Code;
use kb_base::value::{JsonMap, RunId};
use kb_core::run::RunStatus;
use kb_engine::inspect::Reader;
use kb_service::trigger::{API_TRIGGER, FireFilter, Role, run_id};
use schemars::JsonSchema;
use serde::Deserialize;

/// Maximum number of starts that wait in a project.
const MOST_WAITING: usize = 1000;
/// The longest idempotency key.
const LONGEST_KEY: usize = 255;

pub(super) const ROUTES: &[Route] = &[
    post(
        "/api/v1/runs",
        Role::Run,
        start,
        "Queues a run of a definition. A repeated `Idempotency-Key` starts nothing.",
    )
    .query(&[PROJECT])
    .body(|all| all.subschema_for::<Start>())
    .answers(&[
        (201, "The run is queued."),
        (200, "A request with the same key had queued it."),
        (404, "There is no such definition."),
        (422, "The definition or the parameters do not fit."),
        (429, "Too many starts wait."),
    ])
    .returns(|all| all.subschema_for::<StartedRun>()),
    post("/api/v1/runs/{run}/cancel", Role::Run, cancel, "Cancels a run.")
        .query(&[PROJECT])
        .answers(&[
            (202, "It will be cancelled."),
            (404, "There is no such run."),
            (409, "It has ended."),
        ])
        .returns(|all| all.subschema_for::<RunRef>()),
    post(
        "/api/v1/runs/{run}/resume",
        Role::Run,
        resume,
        "Resumes a run that was interrupted or waits.",
    )
    .query(&[PROJECT])
    .answers(&[
        (202, "It will be resumed."),
        (404, "There is no such run."),
        (409, "It has ended, or a process drives it."),
    ])
    .returns(|all| all.subschema_for::<RunRef>()),
    post(
        "/api/v1/runs/{run}/retry",
        Role::Run,
        retry,
        "Reopens a run that has ended and runs its failed steps again.",
    )
    .query(&[PROJECT])
    .body(|all| all.subschema_for::<Retry>())
    .answers(&[
        (202, "It will be continued."),
        (404, "There is no such run or step."),
        (409, "It has not ended."),
    ])
    .returns(|all| all.subschema_for::<RunRef>()),
];

/// What to start, with which parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Start {
    /// Id of a playbook or workflow of the project.
    definition: String,
    /// Values of its parameters; a secret is a reference such as `env:NAME`.
    #[serde(default)]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    params: JsonMap,
}

/// A retry: without a step, all steps that did not succeed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Retry {
    /// Run this step and all steps after it again.
    from: Option<String>,
    /// Run this step again and nothing else.
    only: Option<String>,
    /// Start a new run with the definitions as they are now, which keeps finished steps that did not change. The answer
    /// names it.
    #[serde(default, rename = "withCurrent")]
    with_current: bool,
}

fn start(call: &Call) -> Answer {
    let body: Start = call.json()?;
    let key = key(call)?;
    let what = format!("the playbook `{}`", body.definition);
    let project = call.project_with(&what, |project| {
        project.state().project.playbook(&body.definition).is_ok()
    })?;
    let filter =
        FireFilter { trigger: Some(API_TRIGGER.to_owned()), open: true, limit: MOST_WAITING };
    if project.shared.store.fires(&filter)?.len() >= MOST_WAITING {
        return Err(Problem::too_many("too many starts wait", 10));
    }
    let state = project.state();
    // An id only: a name such as `../x.yml` names a file on the command line.
    if !state.project.catalog.playbooks.contains_key(body.definition.as_str()) {
        state.project.playbook(&id_of(&body.definition)?)?;
    }
    let acting = state.project.acting_as(call.user());
    let fired = serve::start(&acting, API_TRIGGER, &body.definition, body.params, &key)?;
    project.shared.daemon.wake();
    let status = if fired.repeated { StatusCode::OK } else { StatusCode::CREATED };
    let location = format!("/api/v1/runs/{}", fired.run);
    let view = StartedRun {
        project: project.id.clone(),
        run: fired.run,
        definition: body.definition,
        repeated: fired.repeated,
    };
    let mut response = reply::json_with(status, &view)?;
    let location = axum::http::HeaderValue::from_str(&location).ok();
    response.headers_mut().extend(location.map(|location| (LOCATION, location)));
    Ok(response)
}

/// A text that can be the id of a definition.
fn id_of(text: &str) -> Result<String, Problem> {
    let is_id = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if !text.is_empty() && text.len() <= 128 && text.chars().all(is_id) && !text.contains("..") {
        Ok(text.to_owned())
    } else {
        Err(Problem::not_found("there is no such playbook"))
    }
}

/// The idempotency key, or a new one.
fn key(call: &Call) -> Result<String, Problem> {
    let Some(given) = call.headers.get("idempotency-key") else {
        let random = crate::web::secret::random();
        return random.map_err(|error| Problem::internal(format!("no random bytes: {error}")));
    };
    let text = given.to_str().unwrap_or_default();
    if text.is_empty() || text.len() > LONGEST_KEY {
        return Err(Problem::bad_request("`Idempotency-Key` has 1 to 255 printable characters"));
    }
    // Tokens of different names have keys of their own.
    Ok(format!("{}:{text}", call.user()))
}

fn accepted(run: &RunId) -> Answer {
    reply::json_with(StatusCode::ACCEPTED, &RunRef { run: run.to_string() })
}

/// Starts a process that does something with a run.
fn begin(project: &WebProject, run: &RunId, name: &str, args: Vec<String>) -> Result<(), Problem> {
    let process = if name == "cancel" { RunId::new(format!("cancel-{run}")).ok() } else { None };
    let command = RunCommand {
        root: project.shared.context.root.clone(),
        run: process.unwrap_or_else(|| run.clone()),
        args: ["run", name, run.as_str()].map(str::to_owned).into_iter().chain(args).collect(),
    };
    if project.shared.daemon.start(command) {
        Ok(())
    } else {
        Err(Problem::too_many("too many commands wait", 5))
    }
}

fn cancel(call: &Call) -> Answer {
    if let Some(run) = cancel_queued(call)? {
        return accepted(&run);
    }
    let (project, row) = call.run()?;
    if row.status.has_ended() {
        return Err(has_ended(&row.run, row.status));
    }
    begin(&project, &row.run, "cancel", Vec::new())?;
    accepted(&row.run)
}

/// Cancels a run that waits for its start.
fn cancel_queued(call: &Call) -> Result<Option<RunId>, Problem> {
    let Ok(run) = RunId::new(call.path("run")) else { return Ok(None) };
    for project in call.projects()? {
        if serve::cancel_queued(&project.shared.store, &run, call.user(), call.now())? {
            project.shared.daemon.wake();
            return Ok(Some(run));
        }
    }
    Ok(None)
}

fn resume(call: &Call) -> Answer {
    let (project, row) = call.run()?;
    if row.status.has_ended() {
        return Err(has_ended(&row.run, row.status));
    }
    refuse_driven(&project, &row.run)?;
    begin(&project, &row.run, "resume", Vec::new())?;
    accepted(&row.run)
}

fn retry(call: &Call) -> Answer {
    let body: Retry = call.json()?;
    let (project, row) = call.run()?;
    if !row.status.has_ended() {
        let detail = format!("run `{}` is {} and has not ended", row.run, row.status);
        return Err(Problem::conflict(Code::NOT_RESUMABLE, detail));
    }
    refuse_driven(&project, &row.run)?;
    let reader = Reader::open(project.shared.journal.clone(), row.run.as_str())?;
    let arg = match (&body.from, &body.only) {
        (Some(_), Some(_)) => {
            return Err(Problem::unprocessable("give `from` or `only`, not both"));
        }
        (Some(step), None) => Some(("from", step)),
        (None, Some(step)) => Some(("only", step)),
        (None, None) if row.status == RunStatus::Succeeded => {
            let detail = format!("run `{}` succeeded", row.run);
            return Err(Problem::conflict(Code::NOT_RESUMABLE, detail)
                .help("`from` runs a step and all steps after it again"));
        }
        (None, None) => None,
    };
    if let Some((_, step)) = arg {
        reader.require_step(step)?;
    }
    let mut args: Vec<String> = arg.iter().map(|(name, step)| format!("--{name}={step}")).collect();
    let mut run = row.run.clone();
    if body.with_current {
        if body.only.is_some() {
            return Err(Problem::unprocessable("`only` keeps the definitions of the run"));
        }
        // A key counts for each run by itself.
        run = run_id(&format!("retry {}", row.run), &key(call)?);
        args.extend(["--with-current".to_owned(), format!("--run-id={run}")]);
    }
    begin(&project, &row.run, "retry", args)?;
    accepted(&run)
}

fn refuse_driven(project: &WebProject, run: &RunId) -> Result<(), Problem> {
    if project.shared.journal.is_leased(run)? {
        Err(Problem::conflict(Code::RUN_LEASED, format!("a process drives run `{run}`")))
    } else {
        Ok(())
    }
}

fn has_ended(run: &RunId, status: RunStatus) -> Problem {
    let (verb, state) = status.words();
    Problem::conflict(Code::NOT_RESUMABLE, format!("run `{run}` {verb} {state}"))
}
