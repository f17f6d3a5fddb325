//! The list of runs.

use super::format::{cost, duration_or_dash, number, part, short};
use super::frame;
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::web::state::WebProject;
use kb_base::value::{Json, JsonMap, RunId, json_text, one_line};
use kb_core::wire::{InstanceView, RunView, StepStatus, Verdict};
use kb_engine::inspect::{run_params, run_view};
use kb_engine::journal::RunRow;
use kb_service::service::{PointInTime, RunStatus};
use kb_service::trigger::{API_TRIGGER, MCP_TRIGGER, Role};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Number of runs on a page.
const PAGE: usize = 50;
/// Number of runs whose parameters a search reads, newest first.
const SEARCHED: usize = 1000;
/// Maximum number of pages that can be turned.
const MOST_PAGES: u64 = 1000;

/// A run as lists and its page show it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunLine {
    run: String,
    definition: String,
    status: RunStatus,
    started_at: String,
    duration: String,
    cost: String,
    tokens: String,
    /// Steps that ended, and all steps.
    done: u32,
    total: u32,
    /// Gates by their verdict.
    passed: usize,
    refuted: usize,
    /// Gates that proved nothing.
    unproven: usize,
    /// The first failure, or what it waits for.
    note: Option<String>,
    error: Option<String>,
    parent: Option<String>,
    /// What started it, such as `trigger nightly`.
    started_by: String,
    /// Parameters; secrets are references.
    params: Vec<Param>,
    /// The project of the run, if the caller sees several.
    project: Option<String>,
}

/// A parameter of a run.
#[derive(Debug, Serialize)]
pub(super) struct Param {
    name: String,
    value: String,
    /// The value on one line, for lists.
    line: String,
}

impl Param {
    /// The parameters of a run.
    pub(super) fn all(params: &JsonMap) -> Vec<Param> {
        let one = |(name, value): (&String, &Json)| {
            let text = json_text(value);
            Param { name: name.clone(), value: short(&text, 2000), line: one_line(&text, 40) }
        };
        params.iter().map(one).collect()
    }
}

/// What started a run, for people.
pub(super) fn started_by(project: &WebProject, run: &RunId) -> String {
    match project.shared.store.fire_of(run).ok().flatten() {
        None => "the command line".to_owned(),
        Some(fire) => {
            let by = fire.by.map(|person| format!("{}, ", short(&person, 80))).unwrap_or_default();
            match fire.trigger.as_str() {
                API_TRIGGER => format!("{by}the page or the API"),
                MCP_TRIGGER => format!("{by}an MCP client"),
                trigger => format!("{by}trigger {trigger}"),
            }
        }
    }
}

/// Whether each step and item of a run failed without failing the run, in order. The failure of an item is
/// tolerated with its step, and where its step succeeded.
pub(super) fn tolerated(run: &RunView) -> impl Iterator<Item = (&InstanceView, bool)> {
    let mut with_step = false;
    run.steps.iter().map(move |step| {
        if step.instance == step.step {
            with_step = step.tolerated || step.status == StepStatus::Succeeded;
        }
        (step, step.status == StepStatus::Failed && (step.tolerated || with_step))
    })
}

/// The first failure of a run, and how many more of its steps failed.
fn first_failure(run: &RunView) -> Option<String> {
    let failed = |(step, spared): (_, bool)| Some(step).filter(|_| !spared);
    let mut all = tolerated(run).filter_map(failed);
    let (first, error) = all.find_map(|step| Some((step, step.error.as_ref()?)))?;
    let is_other = |step: &&InstanceView| {
        step.status == StepStatus::Failed && step.instance == step.step && step.step != first.step
    };
    let more = match all.filter(is_other).count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!("{}: {}{more}", first.instance, short(&error.message, 1900)))
}

impl RunLine {
    pub(super) fn of(run: &RunView, started_by: String, project: Option<String>) -> RunLine {
        let (done, total) = run.steps_done();
        // With those of its child runs.
        let gates = |wanted: Verdict| {
            let own = run.steps.iter().filter(|step| step.verdict == Some(wanted)).count();
            let below = run.steps.iter().filter_map(|step| step.child_verdicts);
            let below = below.map(|found| match wanted {
                Verdict::Passed => found.passed,
                Verdict::Failed => found.failed,
                Verdict::Inconclusive => found.inconclusive,
                Verdict::Unchecked => found.unchecked,
            });
            own + below.map(|count| count as usize).sum::<usize>()
        };
        let asked = run.steps.iter().find_map(|step| Some(&step.question.as_ref()?.text));
        let error =
            run.error.as_ref().map(|error| error.message.clone()).or_else(|| first_failure(run));
        let note = asked.or(error.as_ref());
        let tokens = run.usage.prompt_tokens + run.usage.completion_tokens;
        RunLine {
            run: run.run.clone(),
            definition: run.definition.clone(),
            status: run.status,
            started_at: run.started_at.clone(),
            duration: duration_or_dash(run.work_ms),
            cost: cost(&run.usage),
            tokens: if tokens == 0 { "–".to_owned() } else { number(tokens) },
            done,
            total,
            passed: gates(Verdict::Passed),
            refuted: gates(Verdict::Failed),
            unproven: gates(Verdict::Inconclusive) + gates(Verdict::Unchecked),
            note: note.map(|text| one_line(text, 160)),
            error: error.map(|text| short(&text, 2000)),
            parent: run.parent.as_ref().map(|parent| parent.run.clone()),
            started_by,
            params: Param::all(&run.params),
            project,
        }
    }
}

/// Whether the parameters of a run contain a text in lower case.
fn has_param(project: &WebProject, run: &RunId, text: &str) -> bool {
    let params = run_params(&*project.shared.journal, run).unwrap_or_default();
    params
        .iter()
        .any(|(name, value)| format!("{name}={}", json_text(value)).to_lowercase().contains(text))
}

/// The page of all runs.
pub(in crate::web) fn runs(call: &Call) -> Result<String, Problem> {
    let (query, projects) = (&call.query, call.projects()?);
    let status = query.parsed("status", "the status of a run", RunStatus::parse)?;
    let since = query.parsed("since", "a time, or a duration such as `24h`", PointInTime::parse)?;
    let since = since.map(|since| since.at(call.now()));
    let page = query.number("page", 1, MOST_PAGES)?.max(1) as usize;
    let (playbook, text) = (query.get("playbook"), query.get("text").map(str::to_lowercase));
    let mut rows: Vec<(RunRow, &Arc<WebProject>)> = Vec::new();
    let mut damaged = Vec::new();
    for project in &projects {
        rows.extend(project.shared.journal.list()?.into_iter().map(|row| (row, project)));
        damaged.extend(project.shared.journal.damaged()?);
    }
    rows.sort_by_key(|(row, _)| std::cmp::Reverse(row.started_at));
    let mut names: BTreeSet<String> = rows.iter().map(|(row, _)| row.definition.clone()).collect();
    let fits = |row: &RunRow| {
        status.is_none_or(|status| row.status == status)
            && playbook.is_none_or(|playbook| row.definition == playbook)
            && since.is_none_or(|since| row.started_at >= since)
    };
    let mut found: Vec<_> = rows.into_iter().filter(|(row, _)| fits(row)).collect();
    if let Some(text) = &text {
        let mut searched = 0;
        found.retain(|(row, project)| {
            let named =
                row.run.as_str().contains(text) || row.definition.to_lowercase().contains(text);
            searched += usize::from(!named);
            named || (searched <= SEARCHED && has_param(project, &row.run, text))
        });
    }
    let mut lines = Vec::new();
    for (row, project) in found.iter().skip((page - 1) * PAGE).take(PAGE) {
        // A run that was removed meanwhile is left out.
        let view = run_view(&project.shared.journal, row.clone(), call.now());
        let Ok(view) = view else { continue };
        let name = (projects.len() > 1).then(|| project.id.clone());
        lines.push(RunLine::of(&view, started_by(project, &row.run), name));
    }
    names.extend(playbook.map(str::to_owned));
    let filter = |name: &str| query.get(name).unwrap_or_default().to_owned();
    let kept = ["status", "playbook", "since", "text"].map(|name| {
        query.get(name).map(|value| format!("{name}={}&", part(value))).unwrap_or_default()
    });
    let more = found.len() > page * PAGE;
    let content = json!({
        "runs": lines,
        "damaged": damaged,
        "statuses": RunStatus::ALL,
        "playbooks": names,
        "filter": {
            "status": filter("status"), "playbook": filter("playbook"),
            "since": filter("since"), "text": filter("text"),
        },
        "filtered": kept.iter().any(|text| !text.is_empty()),
        "may": call.has(Role::Run),
        "more": more.then(|| format!("/?{}page={}", kept.concat(), page + 1)),
    });
    frame::page(call, "Runs", "runs.html", content)
}
