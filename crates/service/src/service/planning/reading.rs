//! The plan of a planning run.

use super::draft::Draft;
use super::failed::failed_plan;
use super::planner::{MAX_REVISIONS, Revision};
use super::team::ORCHESTRATOR;
use crate::service::{Project, ServiceError, run_output, show_run};
use kb_base::diagnostic::{Code, Diagnostic, Sources};
use kb_base::value::{Failure, Json, RunId};
use kb_core::run::RunStatus;
use kb_goal::Answer;

/// What a planning run gave.
#[derive(Debug)]
pub enum Planned {
    /// A plan that loads.
    Draft(Box<Draft>),
    /// The planner asks the person.
    Question(String),
    /// A plan with errors.
    Unusable(Box<Unusable>),
}

/// A plan with errors.
#[derive(Debug)]
pub struct Unusable {
    /// What the planner is to repair; `None` after the last repair.
    pub revision: Option<Revision>,
    /// What a person reads about it.
    pub error: ServiceError,
}

/// The goal of a planning run, and its plan.
pub fn read_plan(project: &Project, run: &str) -> Result<(String, Planned), ServiceError> {
    let refused = |message: String, help: String| {
        let failure = Failure::new(Code::NO_PLANNING_RUN, message).help(help);
        ServiceError::refused(failure)
    };
    let view = show_run(&project.context, run)?;
    if view.definition != ORCHESTRATOR {
        let message =
            format!("run `{}` is one of `{}`, not of the planner", view.run, view.definition);
        return Err(refused(
            message,
            "`kb run list --playbook orchestrator` lists planning runs".to_owned(),
        ));
    }
    if view.status != RunStatus::Succeeded {
        let message = format!("the planning run `{}` has no plan: it is {}", view.run, view.status);
        return Err(refused(message, format!("`kb run show {}` says why", view.run)));
    }
    let (outputs, _) = run_output(&project.context, run, None)?;
    let value = outputs.get("plan").cloned().unwrap_or_default();
    let goal = view.params.get("goal").and_then(Json::as_str).unwrap_or_default().to_owned();
    let number = view.params.get("revision").and_then(Json::as_u64).unwrap_or_default();
    let answer = Answer::read(&value)
        .map_err(|error| ServiceError::refused(Failure::new(Code::PLAN_UNUSABLE, error)));
    if let Ok(answer) = &answer
        && let Some(question) = answer.open_question()
    {
        return Ok((goal, Planned::Question(question.to_owned())));
    }
    let failed = view.params.get("failedRun").and_then(Json::as_str);
    let draft = answer.and_then(|answer| match failed {
        None => Draft::of(project, &goal, &answer),
        Some(failed) => {
            let gone = || {
                let message = format!("run `{failed}` is not a failed run of a plan");
                refused(message, "plan again: `kb do GOAL --new-plan`".to_owned())
            };
            let planner = RunId::new(&view.run).map_err(|_| gone())?;
            let failed = failed_plan(project, failed)?.ok_or_else(gone)?;
            Draft::revising(project, failed, planner, &answer)
        }
    });
    let planned = match draft {
        Ok(draft) => Planned::Draft(Box::new(draft)),
        Err(error) => {
            let problems = problems(&error);
            let failed = failed.map(str::to_owned);
            let revision = Revision { number: number + 1, answer: value, problems, failed };
            let revision = Some(revision).filter(|_| number < MAX_REVISIONS);
            Planned::Unusable(Box::new(Unusable { revision, error }))
        }
    };
    Ok((goal, planned))
}

/// The errors as the planner reads them: message, line and help.
fn problems(error: &ServiceError) -> Vec<String> {
    match error {
        ServiceError::Definitions { diagnostics, sources } => {
            let errors = diagnostics.iter().filter(|problem| problem.is_error());
            errors.take(20).map(|problem| line(problem, sources)).collect()
        }
        other => vec![other.to_string()],
    }
}

fn line(problem: &Diagnostic, sources: &Sources) -> String {
    let mut text = format!("{}: {}", problem.code, problem.message);
    if let Some(span) = problem.span {
        let at = sources.position(span.source, span.start);
        let lines = sources.get(span.source).text.lines().nth(at.line as usize - 1);
        text.push_str(&format!(" (`{}`)", lines.unwrap_or_default().trim()));
    }
    if let Some(help) = &problem.help {
        text.push_str(&format!("; {help}"));
    }
    text
}
