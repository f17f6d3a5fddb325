//! The tools for runs.

use crate::answer::{Answer, shortened};
use crate::arguments::{Cancel, Events, ListRuns, Output, Show, Verify, refused};
use crate::session::Session;
use kb_attempt::run_blocking;
use kb_base::value::{Json, RunId};
use kb_core::redaction::Masked;
use kb_core::wire::{RunStatus, RunView};
use kb_serve::serve::{start_process, take_errors};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, RunFilter, ServiceError};
use kb_service::trigger::{Fire, TriggerStore};
use serde_json::json;
use std::time::Duration;

/// The longest wait of one call.
const MAX_WAIT: Duration = Duration::from_secs(25);
/// The time between two reads of a run.
const PAUSE: Duration = Duration::from_millis(200);
/// The longest wait for the end of a cancelled run.
const CANCEL_WAIT: Duration = Duration::from_secs(10);
/// Bytes of one answer with events.
const EVENTS_BYTES: usize = 7 * 1024;
/// Bytes of one event that is longer than the answer.
const EVENT_BYTES: usize = 2 * 1024;
/// Maximum number of runs of one answer.
const MAX_RUNS: usize = 50;

/// The resource of a run.
pub(crate) fn uri(run: &str) -> String {
    format!("kb://run/{run}")
}

pub(crate) async fn list(session: &Session, args: ListRuns) -> Result<Answer, ServiceError> {
    let limit = args.limit.unwrap_or(20).clamp(1, MAX_RUNS);
    let filter = RunFilter { limit, definition: args.playbook, ..RunFilter::default() };
    let context = session.context()?;
    Ok(Answer::of(&run_blocking(|| listed(&context, &filter))?, "kb://runs"))
}

/// Runs without their steps, newest first.
pub(crate) fn listed(context: &ProjectContext, filter: &RunFilter) -> Result<Json, ServiceError> {
    let runs = service::list_runs(context, filter)?.into_iter();
    let heads: Vec<Masked<RunView>> = runs.map(RunView::without_steps).collect();
    Ok(json!({"runs": heads}))
}

/// Whether the start of a run is recorded, no process of this session starts it, and the run does not exist.
pub(crate) fn is_missing(
    session: &Session,
    context: &ProjectContext,
    run: &RunId,
) -> Result<bool, ServiceError> {
    if session.is_running(run) || service::show_run(context, run.as_str()).is_ok() {
        return Ok(false);
    }
    let fire = TriggerStore::open(&context.state_dir)?.fire_of(run)?;
    Ok(fire.is_some_and(|fire| fire.state.is_open()))
}

/// A run, or that it has not started.
enum Found {
    Run(Box<Masked<RunView>>),
    /// Its start is recorded, its process has not created it yet.
    Starting,
}

pub(crate) async fn show(session: &Session, args: Show) -> Result<Answer, ServiceError> {
    let wait = Duration::from_millis(args.wait_ms.unwrap_or(0)).min(MAX_WAIT);
    let context = session.context()?;
    let mut reads_left = wait.as_millis() / PAUSE.as_millis();
    loop {
        let found = run_blocking(|| find(session, &context, &args.run))?;
        let open = match &found {
            Found::Starting => true,
            Found::Run(view) => view.status == RunStatus::Running,
        };
        if open && reads_left > 0 {
            reads_left -= 1;
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        return Ok(match found {
            Found::Run(view) => Answer::of(&seen(&view), &uri(&view.run)),
            Found::Starting => {
                let next = "it waits for its concurrency group or is being started; playbook_run with the same \
                            key starts it if its server was killed";
                let value = json!({"run": args.run, "status": "queued", "next": next});
                Answer::of(&value, &uri(&args.run))
            }
        });
    }
}

/// A run with what comes next.
pub(crate) fn seen(view: &Masked<RunView>) -> Json {
    let mut value = serde_json::to_value(view).unwrap_or_default();
    let next = match view.status {
        RunStatus::Waiting => {
            format!(
                "a person answers: `kb run show {0}`, then `kb run approve`, `answer` or `reject`",
                view.run
            )
        }
        RunStatus::Interrupted => format!("a person continues it: `kb run resume {}`", view.run),
        RunStatus::Running | RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled => {
            return value;
        }
    };
    if let Some(map) = value.as_object_mut() {
        map.insert("next".to_owned(), Json::from(next));
    }
    value
}

fn find(session: &Session, context: &ProjectContext, run: &str) -> Result<Found, ServiceError> {
    let error = match service::show_run(context, run) {
        Ok(view) => return Ok(Found::Run(Box::new(view))),
        Err(error @ ServiceError::Unknown { .. }) => error,
        Err(error) => return Err(error),
    };
    let Ok(id) = RunId::new(run) else { return Err(error) };
    if session.is_running(&id) {
        return Ok(Found::Starting);
    }
    let fire = TriggerStore::open(&context.state_dir)?.fire_of(&id)?;
    match fire {
        Some(fire) if fire.state.is_open() => Ok(Found::Starting),
        Some(Fire { reason: Some(reason), .. }) => {
            Err(refused(format!("run `{run}`: {reason}"), "fix it and start it with another key"))
        }
        // It may have been created after the first read.
        _ => service::show_run(context, run)
            .map(|view| Found::Run(Box::new(view)))
            .map_err(|_| error),
    }
}

pub(crate) async fn events(session: &Session, args: Events) -> Result<Answer, ServiceError> {
    let context = session.context()?;
    run_blocking(|| {
        let mut reader = service::read_run(&context, &args.run)?;
        let is_live = reader.is_live().map_err(ServiceError::from)?;
        let (after, limit) = (args.after.unwrap_or(0), args.limit.unwrap_or(200).clamp(1, 500));
        let (mut lines, mut bytes, mut next, mut more) = (Vec::new(), 0, after, false);
        'pages: while let Some(page) = reader.next_events().map_err(ServiceError::from)? {
            for event in page {
                let value = serde_json::to_value(&event).unwrap_or_default();
                let Some(seq) = value["seq"].as_u64().filter(|seq| *seq > after) else { continue };
                let whole = value.to_string();
                let text =
                    if whole.len() > EVENT_BYTES { shortened(&value, EVENT_BYTES) } else { whole };
                // Events with the same number stay together.
                if (bytes + text.len() > EVENTS_BYTES || lines.len() >= limit) && seq > next {
                    more = true;
                    break 'pages;
                }
                bytes += text.len();
                next = seq;
                lines.push(serde_json::from_str::<Json>(&text).unwrap_or_default());
            }
        }
        let uri = format!("{}/events", uri(&args.run));
        Ok(Answer::of(&json!({"events": lines, "next": next, "more": more, "live": is_live}), &uri))
    })
}

pub(crate) async fn output(session: &Session, args: Output) -> Result<Answer, ServiceError> {
    let context = session.context()?;
    let step = args.step.as_deref();
    let (value, status) = run_blocking(|| service::run_output(&context, &args.run, step))?;
    let whole = match step {
        Some(step) => format!("{}/output/{step}", uri(&args.run)),
        None => format!("{}/output", uri(&args.run)),
    };
    Ok(Answer::of(&json!({"status": status, "output": &*value}), &whole))
}

pub(crate) async fn verify(session: &Session, args: Verify) -> Result<Answer, ServiceError> {
    let context = session.context()?;
    let audit = run_blocking(|| service::audit_run(&context, &args.run, None))?;
    Ok(Answer::of(&audit, &format!("{}/verify", uri(&args.run))))
}

/// The command line cancels: the process that drives the run is told, or the run is ended there.
pub(crate) async fn cancel(session: &Session, args: Cancel) -> Result<Answer, ServiceError> {
    let context = session.context()?;
    let view = run_blocking(|| service::show_run(&context, &args.run))?;
    if view.run != args.run {
        let message = format!("`{}` is not the whole id of a run", args.run);
        return Err(refused(message, "run_list shows the ids"));
    }
    match view.status {
        RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled => {
            let (verb, state) = view.status.words();
            let message = format!("run {} {verb} already {state}", view.run);
            return Err(refused(message, "run_show shows it"));
        }
        RunStatus::Running | RunStatus::Waiting | RunStatus::Interrupted => {}
    }
    let run = RunId::new(view.run.as_str())
        .map_err(|error| refused(error.to_string(), "run_list shows the runs"))?;
    // The process of the run has an error file of its own.
    let name = RunId::new(format!("cancel-{run}")).unwrap_or_else(|_| run.clone());
    let mut process = start_process(&context, &name, &["run", "cancel", run.as_str()], None)?;
    // One that takes longer ends the run on its own.
    let _ = tokio::time::timeout(CANCEL_WAIT, process.ended()).await;
    let said = take_errors(&context, &name);
    if !said.is_empty() {
        return Err(refused(
            format!("run `{run}` cannot be cancelled: {said}"),
            "run_show shows it",
        ));
    }
    let status = run_blocking(|| service::show_run(&context, run.as_str()))?.status;
    let next = format!("run_show {{\"run\": \"{run}\", \"waitMs\": 25000}} shows its end");
    let value = json!({"run": run, "requested": true, "status": status, "next": next});
    Ok(Answer::of(&value, &uri(run.as_str())))
}
