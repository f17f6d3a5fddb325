//! Goals: the form that plans one, the list, and one with its plan.

use super::format::{cost_range, duration, short};
use super::frame::{self, find_run};
use super::graph::graph;
use crate::web::call::Call;
use crate::web::problem::Problem;
use kb_core::wire::PlanRevisionView;
use kb_service::service::planning::{
    GoalAnswer, GoalState, GoalView, Statement, goal_answer, goal_view, list_goals,
};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, GraphFormat};
use kb_service::trigger::Role;
use serde_json::{Value, json};

/// Number of goals on the page.
const SHOWN: usize = 20;

/// The page of all goals.
pub(in crate::web) fn goals(call: &Call) -> Result<String, Problem> {
    let mut all = Vec::new();
    for project in call.projects()? {
        for goal in list_goals(&project.state().project, SHOWN)? {
            let mut line = line(&goal);
            line["project"] = json!(call.name_of(&project));
            line["query"] = json!(call.query_of(&project));
            all.push(line);
        }
    }
    let query = call.query.get("project").map(|id| format!("?project={}", super::format::part(id)));
    let content = json!({
        "goals": all,
        "may": call.has(Role::Run),
        "api": format!("/api/v1/goals{}", query.unwrap_or_default()),
    });
    frame::page(call, "Goals", "goals.html", content)
}

/// A goal in the list.
fn line(goal: &GoalView) -> Value {
    json!({
        "run": goal.run,
        "goal": short(&goal.goal, 300),
        "state": status(goal.state),
        "at": goal.started_at,
        "checks": goal.plan.as_ref().map(|plan| plan.checks.len()),
        "decision": goal.decision,
        "failedRun": goal.failed_run,
    })
}

/// The status with which a page marks a state.
fn status(state: GoalState) -> &'static str {
    match state {
        GoalState::Planning => "running",
        GoalState::Asks | GoalState::Proposed => "waiting",
        GoalState::Refused => "cancelled",
        GoalState::Approved => "succeeded",
        GoalState::Failed => "failed",
    }
}

/// The page of one goal: its checks, its plan, and the form that decides.
pub(in crate::web) fn goal(call: &Call) -> Result<String, Problem> {
    let (project, id) = find_run(call, call.path("goal"))?;
    let state = project.state();
    let (view, draft) = goal_view(&state.project, &id)?;
    let drawn = draft.as_ref().and_then(|draft| {
        let text = service::graph(draft.project(), &draft.id, GraphFormat::Json).ok()?;
        serde_json::from_str::<Value>(&text).ok()
    });
    let plan = view.plan.as_ref().map(|plan| {
        let cost = plan.cost.map(|cost| cost_range(cost.min_usd, cost.max_usd));
        json!({
            "id": plan.id,
            "text": plan.playbook,
            "checks": plan.checks,
            "confidence": format!("{:.0} %", plan.confidence * 100.0),
            "unsure": plan.unsure,
            "cost": cost.unwrap_or_else(|| "unknown".to_owned()),
            "time": format!("{} to {}", duration(plan.time.min_ms), duration(plan.time.max_ms)),
            "lines": plan.playbook.lines().count().clamp(8, 40),
        })
    });
    let mut content = line(&view);
    content["goal"] = json!(short(&view.goal, 4_000));
    content["proposed"] = json!(view.state == GoalState::Proposed);
    content["question"] = json!(view.question);
    content["problem"] = json!(view.problem.map(|text| short(&text, 2_000)));
    content["plan"] = json!(plan);
    content["graph"] = json!(drawn.map(|drawn| graph(&drawn, None, None)));
    content["may"] = json!(call.has(Role::Run));
    content["edit"] = json!(call.has(Role::Admin));
    content["api"] = json!(format!("/api/v1/goals/{id}/decision{}", call.query_of(&project)));
    frame::page(call, "Goals", "goal.html", content)
}

/// What the page of a run says about its goal; nothing if the run is none of a plan. An error leaves it out: the page is
/// not about it.
pub(super) fn of_run(
    context: &ProjectContext,
    run: &str,
    revision: Option<&PlanRevisionView>,
) -> Option<Value> {
    let found = goal_answer(context, run).ok().flatten()?;
    let GoalAnswer { goal, result, stopped, answer } = found;
    let said = |all: &[Statement]| -> Vec<Value> {
        let one = |own: &Statement| {
            let files = own.files.iter();
            let files =
                files.map(|file| json!({"path": file.path, "digest": file.sha256.get(..12)}));
            let files: Vec<Value> = files.collect();
            json!({"text": short(&own.text, 400), "step": own.step, "files": files})
        };
        all.iter().map(one).collect()
    };
    Some(json!({
        "goal": short(&goal, 1_000),
        "result": result,
        "stopped": stopped,
        "reliable": said(&answer.reliable),
        "uncertain": said(&answer.uncertain),
        "gaps": answer.gaps,
        "revision": revision,
    }))
}
