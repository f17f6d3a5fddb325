//! `/metrics`: what the daemon counts, for Prometheus.

use crate::serve::{EndedRuns, TriggerStateName, list};
use crate::web::call::Call;
use crate::web::exposition::{CONTENT_TYPE, Exposition, MetricKind};
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get};
use crate::web::state::WebProject;
use axum::http::StatusCode;
use kb_base::value::Timestamp;
use kb_core::run::RunStatus;
use kb_engine::journal::RunQuery;
use kb_service::trigger::{FireFilter, FireState, Role};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const ROUTES: &[Route] = &[get(
    "/metrics",
    Role::Read,
    metrics,
    "Runs, triggers, questions and requests in the text format of Prometheus.",
)
.returns_text(&["text/plain"])];

const STATUSES: [RunStatus; 6] = [
    RunStatus::Running,
    RunStatus::Waiting,
    RunStatus::Interrupted,
    RunStatus::Succeeded,
    RunStatus::Failed,
    RunStatus::Cancelled,
];

fn metrics(call: &Call) -> Answer {
    let projects = call.projects()?;
    let mut text = Exposition::default();
    process(&mut text, call.now());
    let name = "kb_build_info";
    text.family(name, MetricKind::Gauge, "The version of kb.");
    text.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    let name = "kb_project_problem";
    text.family(
        name,
        MetricKind::Gauge,
        "Whether something keeps the daemon from serving the project.",
    );
    for project in &projects {
        let problem = project.state().problem.is_some();
        text.sample(name, &[("project", &project.id)], f64::from(u8::from(problem)));
    }
    let since_turn = call.state.since_turn();
    let name = "kb_scheduler_idle_seconds";
    text.family(name, MetricKind::Gauge, "Time since the last turn of the scheduler.");
    if let Some(since) = since_turn {
        text.sample(name, &[], since.as_secs_f64());
    }
    runs(&mut text, &projects)?;
    ended(&mut text, &projects);
    last_successes(&mut text, &projects)?;
    queues(&mut text, &projects, call.now())?;
    triggers(&mut text, &projects)?;
    others(&mut text, &projects)?;
    let name = "kb_http_streams";
    text.family(name, MetricKind::Gauge, "Open streams.");
    text.sample(name, &[], call.state.live().streams() as f64);
    call.state.meter().write(&mut text);
    Ok(reply::bytes(StatusCode::OK, CONTENT_TYPE, text.finish()))
}

fn runs(text: &mut Exposition, projects: &[Arc<WebProject>]) -> Result<(), Problem> {
    let name = "kb_runs";
    text.family(name, MetricKind::Gauge, "Runs in the journal by status.");
    for project in projects {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for row in project.shared.journal.list()? {
            *counts.entry(row.status.as_str()).or_default() += 1;
        }
        for status in STATUSES.map(RunStatus::as_str) {
            let count = counts.get(status).copied().unwrap_or(0);
            text.sample(name, &[("project", &project.id), ("status", status)], count as f64);
        }
    }
    Ok(())
}

/// One counter of runs that ended.
type Ended = (&'static str, &'static str, fn(&EndedRuns) -> f64);

/// The counters of runs that ended since the daemon started.
const ENDED: [Ended; 5] = [
    ("kb_runs_ended_total", "Runs that ended.", |e| e.runs as f64),
    ("kb_run_seconds_total", "Durations of the runs that ended.", |e| e.seconds),
    ("kb_prompt_tokens_total", "Prompt tokens of the runs that ended.", |e| e.prompt_tokens as f64),
    ("kb_completion_tokens_total", "Response tokens of the runs that ended.", |e| {
        e.completion_tokens as f64
    }),
    ("kb_cost_usd_total", "Cost of the runs that ended, as far as prices are known.", |e| {
        e.cost_usd
    }),
];

fn ended(text: &mut Exposition, projects: &[Arc<WebProject>]) {
    let counted: Vec<_> = projects.iter().map(|p| (p, p.shared.telemetry.counted())).collect();
    for (name, help, value) in ENDED {
        text.family(name, MetricKind::Counter, help);
        for (project, counted) in &counted {
            for ((playbook, status), ended) in &counted.ended {
                let labels = [
                    ("project", &*project.id),
                    ("playbook", playbook),
                    ("status", status.as_str()),
                ];
                text.sample(name, &labels, value(ended));
            }
        }
    }
    let name = "kb_trigger_files_waiting";
    text.family(name, MetricKind::Gauge, "Files of triggers that are read later.");
    for (project, counted) in &counted {
        text.sample(name, &[("project", &*project.id)], counted.files_waiting as f64);
    }
    let name = "kb_traces_total";
    text.family(name, MetricKind::Counter, "Traces of runs, by what the collector did with them.");
    for (project, counted) in &counted {
        for (result, count) in [("exported", counted.exported), ("refused", counted.refused)] {
            text.sample(name, &[("project", &*project.id), ("result", result)], count as f64);
        }
    }
}

fn last_successes(text: &mut Exposition, projects: &[Arc<WebProject>]) -> Result<(), Problem> {
    let name = "kb_last_success_timestamp_seconds";
    text.family(name, MetricKind::Gauge, "The end of the last run that succeeded.");
    for project in projects {
        for playbook in project.state().project.catalog.playbooks.keys() {
            let query = RunQuery {
                statuses: vec![RunStatus::Succeeded],
                definition: Some(playbook.to_string()),
                limit: 1,
                ..RunQuery::default()
            };
            let last = project.shared.journal.select(&query)?;
            if let Some(at) = last.first().and_then(|run| run.ended_at) {
                let labels = [("project", &*project.id), ("playbook", playbook.as_str())];
                text.sample(name, &labels, at.0 as f64 / 1000.0);
            }
        }
    }
    Ok(())
}

/// The name of starts without a queue.
const NO_QUEUE: &str = "none";

fn queues(
    text: &mut Exposition,
    projects: &[Arc<WebProject>],
    now: Timestamp,
) -> Result<(), Problem> {
    let mut all = Vec::new();
    for project in projects {
        let state = project.state();
        let settings = &state.project.catalog.settings;
        let names = settings.serve.queues.iter().map(|queue| queue.name.clone());
        let mut waiting: BTreeMap<String, (usize, f64)> =
            names.chain([NO_QUEUE.to_owned()]).map(|name| (name, Default::default())).collect();
        let filter = FireFilter { trigger: None, open: true, limit: usize::MAX };
        let fires = project.shared.store.fires(&filter)?;
        for fire in fires.iter().filter(|fire| fire.state == FireState::Queued) {
            let queue =
                settings.serve.queue_of(&fire.playbook).map_or(NO_QUEUE, |queue| &queue.name);
            let (count, oldest) = waiting.entry(queue.to_owned()).or_default();
            *count += 1;
            *oldest = oldest.max(now.since(fire.at).as_secs_f64());
        }
        all.push((project, waiting));
    }
    type Value = fn(&(usize, f64)) -> f64;
    let families: [(&str, &str, Value); 2] = [
        ("kb_queue_waiting", "Starts that wait.", |waiting| waiting.0 as f64),
        ("kb_queue_wait_seconds", "How long the oldest start waits.", |waiting| waiting.1),
    ];
    for (name, help, value) in families {
        text.family(name, MetricKind::Gauge, help);
        for (project, waiting) in &all {
            for (queue, found) in waiting {
                text.sample(name, &[("project", &project.id), ("queue", queue)], value(found));
            }
        }
    }
    Ok(())
}

fn triggers(text: &mut Exposition, projects: &[Arc<WebProject>]) -> Result<(), Problem> {
    let mut all = Vec::new();
    for project in projects {
        let views = list(&project.state().project, 1)?;
        all.extend(views.into_iter().map(|view| (project.id.clone(), view)));
    }
    let name = "kb_trigger_enabled";
    text.family(name, MetricKind::Gauge, "Whether a trigger starts runs.");
    for (project, view) in &all {
        let on = f64::from(u8::from(view.state == TriggerStateName::Enabled));
        text.sample(name, &[("project", project), ("trigger", &view.id)], on);
    }
    let name = "kb_trigger_next_timestamp_seconds";
    text.family(name, MetricKind::Gauge, "The next time of an enabled schedule.");
    for (project, view) in all.iter().filter(|(_, v)| v.state == TriggerStateName::Enabled) {
        let next = view.next.first().and_then(|next| Timestamp::parse(&next.at));
        if let Some(next) = next {
            let seconds = next.0 as f64 / 1000.0;
            text.sample(name, &[("project", project), ("trigger", &view.id)], seconds);
        }
    }
    let name = "kb_fires";
    text.family(name, MetricKind::Gauge, "Recorded times and events by what became of them.");
    for project in projects {
        for (trigger, state, count) in project.shared.store.fire_counts()? {
            let labels = [("project", &*project.id), ("trigger", &trigger), ("state", &state)];
            text.sample(name, &labels, count as f64);
        }
    }
    Ok(())
}

fn others(text: &mut Exposition, projects: &[Arc<WebProject>]) -> Result<(), Problem> {
    let name = "kb_notifications";
    text.family(name, MetricKind::Gauge, "Notifications by state.");
    for project in projects {
        for (state, count) in project.shared.store.notification_counts()? {
            text.sample(name, &[("project", &project.id), ("state", &state)], count as f64);
        }
    }
    Ok(())
}

/// What the kernel knows about this process. What cannot be read is left out.
fn process(text: &mut Exposition, now: Timestamp) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| {
        let kib = line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB")?;
        kib.trim().parse::<f64>().ok()
    });
    if let Some(kib) = resident {
        let name = "process_resident_memory_bytes";
        text.family(name, MetricKind::Gauge, "Resident memory of the daemon.");
        text.sample(name, &[], kib * 1024.0);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        let name = "process_open_fds";
        text.family(name, MetricKind::Gauge, "Open file descriptors of the daemon.");
        text.sample(name, &[], open.count() as f64);
    }
    let name = "kb_time_seconds";
    text.family(name, MetricKind::Gauge, "The clock of the daemon.");
    text.sample(name, &[], now.0 as f64 / 1000.0);
}
