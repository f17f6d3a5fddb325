//! Goals: planned, decided about, and run, as `kb do` does in a terminal.

use crate::serve::RunCommand;
use crate::web::answers::OfProject;
use crate::web::call::Call;
use crate::web::param::PROJECT;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get, post};
use crate::web::state::WebProject;
use axum::http::StatusCode;
use kb_base::diagnostic::Code;
use kb_base::value::RunId;
use kb_service::service::planning::{
    Draft, GoalAnswer, GoalState, GoalView, ORCHESTRATOR, PlanDecision, decide_plan, goal_answer,
    goal_view, list_goals, require_plannable,
};
use kb_service::service::{self, Choice};
use kb_service::trigger::{Role, run_id};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Number of goals of one answer.
const SHOWN: usize = 20;
/// Maximum number of characters of a goal.
const LONGEST: usize = 4_000;

pub(super) const ROUTES: &[Route] = &[
    get("/api/v1/goals", Role::Read, list, "The goals that were planned last, newest first.")
        .query(&[PROJECT])
        .answers(&[(200, "At most 20 goals of each project, with their plans.")])
        .returns(|all| all.subschema_for::<Vec<OfProject<GoalView>>>()),
    post("/api/v1/goals", Role::Run, plan, "Begins to plan how a goal is reached.")
        .query(&[PROJECT])
        .body(|all| all.subschema_for::<Goal>())
        .answers(&[
            (202, "A planning run will be started."),
            (200, "A playbook matches the goal; nothing is started."),
            (422, "The goal is empty or too long, or nothing could plan it."),
            (429, "Too many commands wait."),
        ])
        .returns(|all| all.subschema_for::<PlannedGoal>()),
    get("/api/v1/goals/{goal}", Role::Read, show, "A goal by its planning run, with its plan.")
        .query(&[PROJECT])
        .answers(&[(200, "The goal."), (404, "There is no such planning run.")])
        .returns(|all| all.subschema_for::<OfProject<GoalView>>()),
    post(
        "/api/v1/goals/{goal}/decision",
        Role::Run,
        decide,
        "Approves the plan of a goal, which starts its run, or refuses it.",
    )
    .query(&[PROJECT])
    .body(|all| all.subschema_for::<Decide>())
    .answers(&[
        (202, "The run of the plan will be started, or the plan is refused."),
        (403, "An edited plan needs the role `admin`."),
        (404, "There is no such planning run."),
        (409, "There is no plan to decide about, or it is decided."),
        (422, "The edited plan has errors."),
    ])
    .returns(|all| all.subschema_for::<PlanDecision>()),
    get(
        "/api/v1/runs/{run}/answer",
        Role::Read,
        answer,
        "The goal of the run of a plan, and its answer, each sentence with its source.",
    )
    .query(&[PROJECT])
    .answers(&[(200, "The answer."), (404, "There is no such run of a plan.")])
    .returns(|all| all.subschema_for::<GoalAnswer>()),
];

/// What is to be reached.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Goal {
    /// The goal as a sentence.
    goal: String,
    /// Maximum cost of planning, in US dollars.
    budget: Option<f64>,
    /// Plan even if a playbook matches.
    #[serde(default, rename = "newPlan")]
    new_plan: bool,
}

/// What a goal leads to: a planning run, or a playbook of the project.
#[derive(Debug, Serialize, JsonSchema)]
struct PlannedGoal {
    /// Id of the project.
    project: String,
    /// Id of the planning run, which exists once the daemon has started it; null if a playbook matches.
    run: Option<String>,
    /// Id of the playbook that matches; null without one.
    playbook: Option<String>,
    /// What matched.
    why: Option<String>,
}

/// A decision about a plan.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Decide {
    /// Whether the plan is run.
    decision: Decision,
    /// The text of the playbook after edits; without it, the plan is run as it is.
    playbook: Option<String>,
    /// Maximum cost of the run, in US dollars.
    budget: Option<f64>,
}

/// A decision about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Decision {
    /// Run it.
    Approve,
    /// Do not run it.
    Refuse,
}

fn list(call: &Call) -> Answer {
    let mut all = Vec::new();
    for project in call.projects()? {
        for value in list_goals(&project.state().project, SHOWN)? {
            all.push(OfProject { project: project.id.clone(), value });
        }
    }
    reply::json(&all)
}

fn plan(call: &Call) -> Answer {
    let body: Goal = call.json()?;
    let goal = body.goal.trim();
    if goal.is_empty() || goal.chars().count() > LONGEST {
        return Err(Problem::unprocessable(format!("a goal has 1 to {LONGEST} characters")));
    }
    let project = call.project_with("specialists", |project| {
        require_plannable(&project.state().project).is_ok()
    })?;
    let state = project.state();
    if !body.new_plan
        && let Choice::Clear(found) = service::choose(&state.project, goal)
    {
        let (playbook, why) =
            (Some(found.id), Some(format!("{} (`{}`)", found.why, found.trigger)));
        return reply::json(&PlannedGoal { project: project.id.clone(), run: None, playbook, why });
    }
    require_plannable(&state.project)?;
    let random = crate::web::secret::random();
    let random = random.map_err(|error| Problem::internal(format!("no random bytes: {error}")))?;
    let run = run_id("goal", &random);
    let mut args = ["do", "--new-plan", "--plan", "--json"].map(str::to_owned).to_vec();
    args.push(format!("--run-id={run}"));
    args.extend(budget(body.budget)?);
    args.extend(["--".to_owned(), goal.to_owned()]);
    start(&project, &run, args)?;
    let run = Some(run.to_string());
    let planned = PlannedGoal { project: project.id.clone(), run, playbook: None, why: None };
    reply::json_with(StatusCode::ACCEPTED, &planned)
}

fn show(call: &Call) -> Answer {
    let Found { project, view: value, .. } = found(call)?;
    reply::json(&OfProject { project: project.id.clone(), value })
}

/// A goal of a project, with its plan to be approved.
struct Found {
    project: Arc<WebProject>,
    view: GoalView,
    draft: Option<Box<Draft>>,
}

/// The goal that the path names.
fn found(call: &Call) -> Result<Found, Problem> {
    let (project, row) = call.run_of("goal")?;
    if row.definition != ORCHESTRATOR {
        return Err(Problem::not_found(format!("run `{}` is none of a planner", row.run)));
    }
    let state = project.state();
    let (view, draft) = goal_view(&state.project, row.run.as_str())?;
    Ok(Found { project, view, draft })
}

fn decide(call: &Call) -> Answer {
    let body: Decide = call.json()?;
    let Found { project, view, draft } = found(call)?;
    let planner = RunId::new(&view.run).map_err(|error| Problem::internal(error.to_string()))?;
    let Some(draft) = draft.filter(|_| view.state == GoalState::Proposed) else {
        let detail = format!("the goal of `{planner}` has no plan that waits for a decision");
        return Err(Problem::conflict(Code::NO_PLANNING_RUN, detail));
    };
    let approved = body.decision == Decision::Approve;
    let text = body.playbook.filter(|text| approved && *text != draft.text);
    // The text of a plan has sandboxed checks and specialists; an edited one can have any step.
    if text.is_some() && !call.has(Role::Admin) {
        let detail = "an edited plan can run any command: it needs the role `admin`";
        return Err(Problem::plain(StatusCode::FORBIDDEN, detail));
    }
    let draft = match text {
        Some(text) => draft.edited(text)?,
        None => *draft,
    };
    let run = approved.then(|| run_id("plan", planner.as_str()));
    let by = call.user().to_owned();
    let decision = PlanDecision { approved, by, run: run.as_ref().map(|run| run.to_string()) };
    let budget = budget(body.budget)?;
    let path = decide_plan(&project.shared.context, &planner, &decision, &draft.text)?;
    if let Some(run) = run {
        // A repair has the plan of the run that it repairs.
        let mut args = vec!["do".to_owned(), "--json".to_owned()];
        args.push(format!("--from={}", view.planned_by));
        args.push(format!("--approved={}", path.display()));
        args.push(format!("--run-id={run}"));
        args.extend(budget);
        start(&project, &run, args)?;
    }
    reply::json_with(StatusCode::ACCEPTED, &decision)
}

fn budget(usd: Option<f64>) -> Result<Option<String>, Problem> {
    match usd {
        Some(usd) if usd.is_finite() && usd >= 0.0 => Ok(Some(format!("--budget={usd}"))),
        Some(_) => Err(Problem::unprocessable("a budget is a number of dollars, 0 or more")),
        None => Ok(None),
    }
}

fn start(project: &WebProject, run: &RunId, args: Vec<String>) -> Result<(), Problem> {
    let root = project.shared.context.root.clone();
    if project.shared.daemon.start(RunCommand { root, run: run.clone(), args }) {
        Ok(())
    } else {
        Err(Problem::too_many("too many commands wait", 5))
    }
}

fn answer(call: &Call) -> Answer {
    let (project, row) = call.run()?;
    let found = goal_answer(&project.shared.context, row.run.as_str())?;
    let unknown = || Problem::not_found(format!("run `{}` is none of a plan", row.run));
    reply::json(&found.ok_or_else(unknown)?)
}
