//! Runs: read.

use super::logs;
use crate::web::answers::{JsonObject, LogLines, OfProject};
use crate::web::call::Call;
use crate::web::param::QueryValues::{Number, OneOf, SomeOf};
use crate::web::param::{PROJECT, QueryParam, param};
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get};
use kb_base::value::{Json, RunId};
use kb_core::redaction::Masked;
use kb_core::run::RunStatus;
use kb_core::wire::RunView;
use kb_engine::inspect::{
    Audit, LogLine, Reader, RunDiff, RunFilter, audit, list_rows, run_diff, run_output, run_view,
};
use kb_service::service::{Difference, PointInTime};
use kb_service::trigger::Role;
use serde_json::json;

const STEP: QueryParam = param("step", "Only this step or item, such as `review[src/a.rs]`.");
/// Maximum number of runs of one answer.
const MOST: u64 = 200;

pub(super) const ROUTES: &[Route] = &[
    get("/api/v1/runs", Role::Read, list, "The runs, newest first, without their steps.")
        .query(&[
            param("status", "Only runs with this status; can be repeated.").values(SomeOf(&[
                "running",
                "waiting",
                "interrupted",
                "succeeded",
                "failed",
                "cancelled",
            ])),
            param("playbook", "Only runs of this playbook or workflow."),
            param(
                "since",
                "Only runs that started since: RFC 3339, or a duration before now such as `2d`.",
            ),
            param("before", "Only runs older than this one: the next page."),
            param("limit", "Maximum number of runs, at most 200; by default 50.")
                .values(Number(MOST)),
            PROJECT,
        ])
        .answers(&[(
            200,
            "A list of runs, as of `kb run list --json`, with `project` and empty `steps`.",
        )])
        .returns(|all| all.subschema_for::<Vec<OfProject<RunView>>>()),
    get("/api/v1/runs/{run}", Role::Read, show, "A run with its steps.")
        .query(&[PROJECT])
        .answers(&[
            (200, "The run, as of `kb run show --json`."),
            (404, "There is no such run."),
            (410, "It was removed."),
        ])
        .returns(|all| all.subschema_for::<RunView>()),
    get(
        "/api/v1/runs/{run}/graph",
        Role::Read,
        graph,
        "The graph of the definition that the run executes, with the states of its steps.",
    )
    .query(&[PROJECT])
    .answers(&[(200, "`nodes` and `edges`."), (404, "There is no such run.")])
    .returns(|all| all.subschema_for::<JsonObject>()),
    get(
        "/api/v1/runs/{run}/outputs",
        Role::Read,
        outputs,
        "The outputs of a run, or the output of one step.",
    )
    .query(&[STEP, PROJECT])
    .answers(&[
        (200, "The value."),
        (404, "There is no such run or step."),
        (409, "It has no output yet."),
    ])
    .returns(|all| all.subschema_for::<Json>()),
    get(
        "/api/v1/runs/{run}/diff",
        Role::Read,
        diff,
        "The recorded file changes of a run, or of one step.",
    )
    .query(&[STEP, PROJECT])
    .answers(&[(200, "As of `kb run diff --json`."), (404, "There is no such run or step.")])
    .returns(|all| all.subschema_for::<RunDiff>()),
    get("/api/v1/runs/{run}/verify", Role::Read, verify, "Checks the integrity of a recorded run.")
        .query(&[PROJECT])
        .answers(&[(200, "As of `kb run verify --json`."), (404, "There is no such run.")])
        .returns(|all| all.subschema_for::<Audit>()),
    get(
        "/api/v1/runs/{run}/steps/{step}/log",
        Role::Read,
        logs::log,
        "The log of a step by lines, or as a file.",
    )
    .query(&[
        param("from", "Number of the first line, from 1.").values(Number(u32::MAX as u64)),
        param("count", "Maximum number of lines, at most 2,000; by default 200.")
            .values(Number(logs::MOST_LINES)),
        param(
            "format",
            "`json` (default), or `text` for the whole log as a file; accepts `Range`.",
        )
        .values(OneOf(&["json", "text"])),
        param("attempt", "Only attempts with this number in their iteration.")
            .values(Number(u32::MAX as u64)),
        param("iteration", "Only attempts of this iteration.").values(Number(u32::MAX as u64)),
        PROJECT,
    ])
    .answers(&[
        (200, "The lines, or the file."),
        (206, "A part of the file."),
        (404, "There is no such run or step."),
        (416, "The file has no such part."),
    ])
    .returns(|all| all.subschema_for::<LogLines<LogLine<'_>>>())
    .returns_text(&["text/plain"]),
];

fn list(call: &Call) -> Answer {
    let statuses = call.query.all("status").map(|text| {
        RunStatus::parse(text).ok_or_else(|| {
            Problem::bad_request(format!("`status` is not a status: `{}`", short(text)))
                .help("running, waiting, interrupted, succeeded, failed or cancelled")
        })
    });
    let statuses: Vec<RunStatus> = statuses.collect::<Result<_, _>>()?;
    let since = call.query.parsed("since", "a time or a duration", PointInTime::parse)?;
    let since = since.map(|since| since.at(call.now()));
    let before = call.query.parsed("before", "the id of a run", |text| RunId::new(text).ok())?;
    let limit = call.query.number("limit", 50, MOST)?.max(1) as usize;
    let definition = call.query.get("playbook").map(str::to_owned);
    let mut found = Vec::new();
    for project in call.projects()? {
        let journal = &project.shared.journal;
        let filter = RunFilter {
            limit,
            statuses: statuses.clone(),
            definition: definition.clone(),
            since,
            before: before.clone(),
        };
        for row in list_rows(&**journal, &filter)? {
            found.push((row.started_at, project.clone(), row));
        }
    }
    // Newest first over all projects.
    found.sort_by_key(|(started, _, _)| std::cmp::Reverse(*started));
    found.truncate(limit);
    let view = |(_, project, row): &(_, std::sync::Arc<crate::web::state::WebProject>, _)| {
        let (index, journal) = (call.index_of(project), &project.shared.journal);
        let view = call.state.views().head(index, journal, row, call.now())?;
        let value = RunView::without_steps((*view).clone());
        Ok::<_, Problem>(OfProject { project: project.id.clone(), value })
    };
    let views: Vec<OfProject<Masked<RunView>>> =
        found.iter().map(view).collect::<Result<_, _>>()?;
    reply::json(&views)
}

/// A text of the caller for a message.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn show(call: &Call) -> Answer {
    let (project, row) = call.run()?;
    reply::json(&run_view(&project.shared.journal, row, call.now())?)
}

fn reader(call: &Call) -> Result<Reader, Problem> {
    let (project, row) = call.run()?;
    Ok(Reader::open(project.shared.journal.clone(), row.run.as_str())?)
}

fn graph(call: &Call) -> Answer {
    let mut reader = reader(call)?;
    let mut graph = kb_language::plan::graph::json(reader.plan());
    let view = reader.view(call.now())?;
    let states = view.steps.iter().map(|step| {
        json!({"instance": step.instance, "step": step.step, "status": step.status, "verdict": step.verdict})
    });
    if let Some(map) = graph.as_object_mut() {
        map.insert("run".to_owned(), Json::from(view.run.clone()));
        map.insert("status".to_owned(), Json::from(view.status.as_str()));
        map.insert("instances".to_owned(), states.collect());
    }
    reply::json(&graph)
}

fn outputs(call: &Call) -> Answer {
    let (value, _) = run_output(reader(call)?, call.query.get("step"))?;
    reply::json(&*value)
}

fn diff(call: &Call) -> Answer {
    let step = call.query.get("step");
    let mut diff = run_diff(reader(call)?, step)?;
    let view = reader(call)?.view(call.now())?;
    // A person who approves has to see what no record has.
    if step.is_none() && view.steps.iter().any(|step| step.question.is_some()) {
        let (project, row) = call.run()?;
        let shared = &project.shared;
        let (journal, root) = (&shared.journal, &shared.context.root);
        let decided = Difference::of(journal, root, row.run.as_str(), call.now())?;
        diff.steps.extend(decided.without_record().cloned());
    }
    reply::json(&diff)
}

fn verify(call: &Call) -> Answer {
    let (project, row) = call.run()?;
    reply::json(&audit(&project.shared.journal, row.run.as_str(), None)?)
}
