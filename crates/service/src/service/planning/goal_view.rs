//! A goal and what became of it, for programs and pages: its planning run, the plan, the decision, the run.

use super::decision::{PlanDecision, plan_decision};
use super::draft::Draft;
use super::reading::{Planned, read_plan};
use super::team::{self, ORCHESTRATOR};
use crate::service::runs::Overrides;
use crate::service::{CostRange, Project, ServiceError, TimeRange, list_runs, show_run};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, RunId, Tier};
use kb_core::run::RunStatus;
use kb_core::wire::RunView;
use kb_engine::inspect::RunFilter;
use kb_goal::AFTER;
use kb_host::llm::Tiers;
use kb_language::definition::load_value;
use schemars::JsonSchema;
use serde::Serialize;

/// Number of planning runs in which a repair is looked for.
const NEWEST: usize = 100;

/// How far a goal has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GoalState {
    /// A planner works, or its run waits or was interrupted.
    Planning,
    /// The planner asks a question in place of a plan.
    Asks,
    /// A plan waits for a person.
    Proposed,
    /// A person refused the plan.
    Refused,
    /// A person approved the plan; its run says the rest.
    Approved,
    /// There is no plan: the planning run failed, or its plan has errors.
    Failed,
}

/// A goal with all that is known of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoalView {
    /// Id of the planning run.
    pub run: String,
    /// Id of the run that gave the plan: the same, or a repair.
    pub planned_by: String,
    /// The sentence of the person.
    pub goal: String,
    /// How far it has come.
    pub state: GoalState,
    /// When planning began, in RFC 3339.
    pub started_at: String,
    /// What the planner asks; null without a question.
    pub question: Option<String>,
    /// Why there is no plan; null without a problem.
    pub problem: Option<String>,
    /// The failed run of which the plan replaces steps; null for a first plan.
    pub failed_run: Option<String>,
    /// The plan; null without one.
    pub plan: Option<ProposedPlan>,
    /// What a person decided; null before that.
    pub decision: Option<PlanDecision>,
}

/// A plan that can be run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposedPlan {
    /// Id of the playbook.
    pub id: String,
    /// The text of the playbook.
    pub playbook: String,
    /// The checks of the goal, each in a line.
    pub checks: Vec<String>,
    /// How sure the planner is, from 0 to 1.
    pub confidence: f64,
    /// Whether the confidence is below `orchestrator.minConfidence`.
    pub unsure: bool,
    /// Estimate of the cost; null if a price is unknown.
    pub cost: Option<CostRange>,
    /// Estimate of the time.
    pub time: TimeRange,
}

/// Fails unless a goal of this project could be planned: it has specialists, and a model for the planner.
///
/// # Errors
///
/// What is missing.
pub fn require_plannable(project: &Project) -> Result<(), ServiceError> {
    project.require_valid_settings()?;
    team::require_members(project)?;
    let tiers = Tiers::from(&project.catalog.settings, &project.context.environment.variables);
    tiers.target(Tier::Large, None).map(|_| ()).map_err(|error| {
        let failure = Failure::new(Code::NO_MODEL, error.to_string());
        ServiceError::refused(failure.help("`kb doctor` shows the models of the tiers"))
    })
}

/// The goals of the newest planning runs, newest first. Repairs of a plan belong to the run that they repair.
///
/// # Errors
///
/// The journal cannot be read.
pub fn list_goals(project: &Project, limit: usize) -> Result<Vec<GoalView>, ServiceError> {
    let runs = planning_runs(project)?;
    let first = runs.iter().filter(|run| repair_of(run) == 0).take(limit);
    Ok(first.map(|run| view(project, &runs, run).0).collect())
}

/// The goal of a planning run, with its plan to be approved, if it has one.
///
/// # Errors
///
/// There is no such run, or it is no planning run.
pub fn goal_view(
    project: &Project,
    run: &str,
) -> Result<(GoalView, Option<Box<Draft>>), ServiceError> {
    let own = show_run(&project.context, run)?;
    if own.definition != ORCHESTRATOR {
        let message = format!("run `{run}` is one of `{}`, not of the planner", own.definition);
        return Err(ServiceError::refused(Failure::new(Code::NO_PLANNING_RUN, message)));
    }
    Ok(view(project, &planning_runs(project)?, &own))
}

fn planning_runs(project: &Project) -> Result<Vec<RunView>, ServiceError> {
    let definition = Some(ORCHESTRATOR.to_owned());
    let filter = RunFilter { definition, ..RunFilter::newest(NEWEST) };
    let runs = list_runs(&project.context, &filter)?;
    Ok(runs.into_iter().map(|run| (*run).clone()).collect())
}

fn param<'r>(run: &'r RunView, name: &str) -> Option<&'r str> {
    run.params.get(name).and_then(Json::as_str)
}

fn repair_of(run: &RunView) -> u64 {
    run.params.get("revision").and_then(Json::as_u64).unwrap_or_default()
}

/// The run that repairs the plan of this one, if it has been started.
fn repaired<'r>(runs: &'r [RunView], of: &RunView) -> Option<&'r RunView> {
    let is_it = |run: &&RunView| {
        repair_of(run) == repair_of(of) + 1
            && param(run, "goal") == param(of, "goal")
            && param(run, "failedRun") == param(of, "failedRun")
            && run.started_at > of.started_at
    };
    // The list is newest first; the repair is the next one.
    runs.iter().rfind(is_it)
}

fn view(project: &Project, runs: &[RunView], own: &RunView) -> (GoalView, Option<Box<Draft>>) {
    let mut last = own;
    let mut found = GoalView {
        run: own.run.clone(),
        planned_by: own.run.clone(),
        goal: param(own, "goal").unwrap_or_default().to_owned(),
        state: GoalState::Planning,
        started_at: own.started_at.to_string(),
        question: None,
        problem: None,
        failed_run: param(own, "failedRun").map(str::to_owned),
        plan: None,
        decision: RunId::new(&own.run).ok().and_then(|run| plan_decision(&project.context, &run)),
    };
    let draft = loop {
        match last.status {
            RunStatus::Running | RunStatus::Waiting | RunStatus::Interrupted => break None,
            RunStatus::Failed | RunStatus::Cancelled => {
                found.state = GoalState::Failed;
                found.problem = last.error.as_ref().map(|error| error.message.clone());
                break None;
            }
            RunStatus::Succeeded => {}
        }
        match read_plan(project, &last.run) {
            Ok((_, Planned::Draft(draft))) => break Some(draft),
            Ok((_, Planned::Question(question))) => {
                (found.state, found.question) = (GoalState::Asks, Some(question));
                break None;
            }
            Ok((_, Planned::Unusable(unusable))) => {
                if let Some(next) = repaired(runs, last) {
                    last = next;
                    continue;
                }
                // Another process begins the next repair in a moment.
                if unusable.revision.is_none() {
                    found.state = GoalState::Failed;
                    found.problem = Some(unusable.error.to_string());
                }
                break None;
            }
            Err(error) => {
                (found.state, found.problem) = (GoalState::Failed, Some(error.to_string()));
                break None;
            }
        }
    };
    found.planned_by.clone_from(&last.run);
    if let Some(draft) = &draft {
        found.state = GoalState::Proposed;
        found.plan = proposed(draft).ok();
    }
    if let Some(decision) = &found.decision {
        found.state = if decision.approved { GoalState::Approved } else { GoalState::Refused };
    }
    (found, draft)
}

fn proposed(draft: &Draft) -> Result<ProposedPlan, ServiceError> {
    let view = draft.view(&Overrides::default())?;
    Ok(ProposedPlan {
        id: draft.id.clone(),
        playbook: draft.text.clone(),
        checks: checks(draft),
        confidence: draft.confidence,
        unsure: draft.is_unsure(),
        cost: view.cost,
        time: view.time,
    })
}

/// The checks of the last gate, as they stand in the text.
fn checks(draft: &Draft) -> Vec<String> {
    let text = load_value(&draft.path, draft.text.as_bytes()).0.map(|read| read.value);
    let steps = text.as_ref().and_then(|text| text["steps"].as_array());
    let gate = steps.into_iter().flatten().find(|step| step["id"] == *AFTER);
    let gate = gate.and_then(|step| step["gate"].as_array());
    gate.into_iter().flatten().map(line).collect()
}

fn line(check: &Json) -> String {
    match check["command"].as_array() {
        Some(words) => {
            let words = words
                .iter()
                .map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned));
            words.collect::<Vec<_>>().join(" ")
        }
        None => check.to_string(),
    }
}
