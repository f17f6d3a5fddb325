//! The page of one run.

use super::format::{anchor, duration_or_dash, part, short};
use super::frame::{self, find_run};
use super::goals;
use super::graph::graph;
use super::runs::{RunLine, started_by, tolerated};
use super::step::{self, StepPanel};
use super::timeline::{earlier, timeline};
use crate::web::call::Call;
use crate::web::problem::Problem;
use kb_base::value::{RunId, one_line};
use kb_core::wire::{InstanceView, RunView, StepStatus};
use kb_language::plan::{Plan, graph as drawing};
use kb_service::service::{Reader, RunStatus, has_changed_since, run_session};
use kb_service::trigger::Role;
use serde_json::{Value, json};

/// Number of items of one `forEach` that are listed.
const ITEMS: usize = 20;

/// The page of a run: state, graph or timeline, steps, and the panel of the chosen step.
pub(in crate::web) fn run(call: &Call) -> Result<String, Problem> {
    if let Some(page) = queued(call)? {
        return Ok(page);
    }
    let (project, id) = find_run(call, call.path("run"))?;
    let journal = project.shared.journal.clone();
    let mut reader = Reader::open(journal.clone(), &id)?;
    let plan = drawing::json(reader.plan());
    let definition = reader.definition();
    let definition =
        definition.map(|(path, text)| json!({"path": path, "text": short(text, 100_000)}));
    let view = reader.view(call.now())?;
    let chosen = call.query.get("step").or_else(|| of_interest(&view));
    let is_timeline = call.query.get("view") == Some("timeline");
    let name = call.name_of(&project).map(str::to_owned);
    let line = RunLine::of(&view, started_by(&project, reader.run()), name);
    let mode = if is_timeline { "timeline" } else { "graph" };
    let panel = match chosen {
        None => None,
        Some(name) => {
            let page = format!("/runs/{id}?view={mode}&step={}", part(name));
            let attempt = call.query.parsed("attempt", "`ITERATION.ATTEMPT`", attempt)?;
            Some(panel(&project, reader.plan(), &view, name, (&page, attempt))?)
        }
    };
    let timeline = if is_timeline {
        let earlier = earlier(&view, Reader::open(journal.clone(), &id)?)?;
        Some(timeline(&view, &earlier, chosen, call.now()))
    } else {
        None
    };
    let steps = steps(&view, chosen, mode, call.query.get("items") == Some("all"));
    let tab = |mode: &str| {
        let step = chosen.map(|name| format!("&step={}", part(name))).unwrap_or_default();
        format!("/runs/{id}?view={mode}{step}")
    };
    let may = call.has(Role::Run);
    let (status, ended) = (view.status, view.status.has_ended());
    let root = &project.shared.context.root;
    let changed = ended && has_changed_since(&*project.shared.journal, root, &id);
    let questions: Vec<Value> = view
        .steps
        .iter()
        .filter_map(|step| Some((step, step.question.as_ref()?)))
        .map(|(step, asked)| {
            let text = one_line(&asked.text, 200);
            json!({"step": step.instance, "text": text, "anchor": anchor(&id, &step.instance)})
        })
        .collect();
    let revision = view.base.as_ref().and_then(|base| base.revision.as_ref());
    let content = json!({
        "run": line,
        // What follows is read from here on.
        "seq": reader.seq(),
        "api": format!("/api/v1/runs/{id}"),
        "can": {
            "cancel": may && !ended,
            "resume": may && status == RunStatus::Interrupted,
            "retry": may && matches!(status, RunStatus::Failed | RunStatus::Cancelled),
            "current": (may && changed).then(|| json!({"withCurrent": true}).to_string()),
            "again": may,
            "open": call.has(Role::Admin),
        },
        "again": again(chosen.filter(|_| may && ended), changed),
        "questions": questions,
        "outputs": ended.then(|| step::output(&project, &id, None)).flatten(),
        "goal": ended.then(|| goals::of_run(&project.shared.context, &id, revision)).flatten(),
        "definition": definition,
        "artifacts": artifacts(&project, &id),
        "tabs": {"graph": tab("graph"), "timeline": tab("timeline")},
        "view": mode,
        "graph": (!is_timeline).then(|| graph(&plan, Some(&view), chosen)),
        "timeline": timeline,
        "steps": steps.0,
        "folded": (steps.1 > 0).then_some(steps.1),
        "unfold": format!("{}&items=all", tab(mode)),
        "step": panel,
    });
    frame::page(call, "Runs", "run.html", content)
}

/// The ways to run a step again: label and body of the request.
fn again(step: Option<&str>, changed: bool) -> Vec<Value> {
    let Some(step) = step else { return Vec::new() };
    let way = |label: &str, body: Value| json!({"label": label, "body": body.to_string()});
    let mut all = vec![
        way("Run again from here", json!({"from": step})),
        way("Run only this step again", json!({"only": step})),
    ];
    if changed {
        let body = json!({"from": step, "withCurrent": true});
        all.push(way("From here, with the current definition", body));
    }
    all
}

/// What the specialists of the run left for later steps. An error leaves it out: the page is not about it.
fn artifacts(project: &crate::web::state::WebProject, run: &str) -> Vec<Value> {
    let session = run_session(&project.shared.context, run).and_then(|all| Ok(all.view(None)?));
    let all = session.map(|view| view.state.artifacts).unwrap_or_default();
    let shown = all.into_iter().map(|artifact| {
        json!({
            "id": artifact.id,
            "kind": artifact.kind.as_str(),
            "preview": artifact.preview,
            "href": format!("/api/v1/runs/{run}/artifacts/{}", part(&artifact.id)),
        })
    });
    shown.collect()
}

/// The page of a run that was requested and has not started; it becomes the page of the run.
fn queued(call: &Call) -> Result<Option<String>, Problem> {
    let Ok(id) = RunId::new(call.path("run")) else { return Ok(None) };
    for project in call.projects()? {
        let Some(fire) = project.shared.store.fire_of(&id)? else { continue };
        if project.shared.journal.run(&id).is_ok() {
            return Ok(None);
        }
        let state = project.state();
        let queue = state.project.catalog.settings.serve.queue_of(&fire.playbook);
        let content = json!({
            "run": id.as_str(),
            "queue": queue.map(|queue| json!({"name": queue.name, "most": queue.max_runs})),
            "playbook": fire.playbook,
            "state": fire.state.as_str(),
            "reason": fire.reason,
        });
        return frame::page(call, "Runs", "queued.html", content).map(Some);
    }
    Ok(None)
}

/// The step that the page opens by itself: the first that failed, waits or executes.
fn of_interest(view: &RunView) -> Option<&str> {
    let first = |is_it: fn(&InstanceView) -> bool| view.steps.iter().find(|step| is_it(step));
    let failed = |(step, spared): (_, bool)| Some(step).filter(|_| !spared);
    tolerated(view)
        .filter_map(failed)
        .find(|step: &&InstanceView| step.status == StepStatus::Failed)
        .or_else(|| first(|step| step.question.is_some()))
        .or_else(|| first(|step| step.status == StepStatus::Running))
        .map(|step| step.instance.as_str())
}

fn panel(
    project: &crate::web::state::WebProject,
    plan: &Plan,
    view: &RunView,
    name: &str,
    log: (&str, Option<(u32, u32)>),
) -> Result<StepPanel, Problem> {
    let instance = tolerated(view).find(|(step, _)| step.instance == name);
    let instance = instance.ok_or_else(|| {
        Problem::not_found(format!("the run has no step `{}`", super::template::inert(name)))
    })?;
    step::panel(project, plan, view, instance, log)
}

/// An attempt of an iteration, as in `2.1`.
fn attempt(text: &str) -> Option<(u32, u32)> {
    let (iteration, number) = text.split_once('.')?;
    Some((iteration.parse().ok()?, number.parse().ok()?))
}

/// The lines of steps, and the number of items that are folded.
fn steps(view: &RunView, chosen: Option<&str>, mode: &str, all: bool) -> (Vec<Value>, usize) {
    let (mut lines, mut folded, mut items) = (Vec::new(), 0, 0);
    for (step, is_tolerated) in tolerated(view) {
        let is_item = step.instance != step.step;
        items = if is_item { items + 1 } else { 0 };
        let is_chosen = chosen == Some(step.instance.as_str());
        let is_important = step.error.is_some() || step.question.is_some() || is_chosen;
        if is_item && items > ITEMS && !all && !is_important {
            folded += 1;
            continue;
        }
        lines.push(line(&view.run, (step, is_tolerated), is_item, is_chosen, mode));
    }
    (lines, folded)
}

fn line(
    run: &str,
    (step, is_tolerated): (&InstanceView, bool),
    item: bool,
    selected: bool,
    mode: &str,
) -> Value {
    let error = step.error.as_ref().map(|error| one_line(&error.message, 120));
    json!({
        "instance": short(&step.instance, 200),
        "item": item,
        "kind": step.kind,
        "status": step.status.as_str(),
        "tolerated": is_tolerated,
        "reason": step.reason.clone().or(error),
        "attempts": step.attempts,
        "verdict": step.verdict,
        "duration": duration_or_dash(step.duration_ms),
        "href": format!("/runs/{run}?view={mode}&step={}#step", part(&step.instance)),
        "selected": selected,
    })
}
