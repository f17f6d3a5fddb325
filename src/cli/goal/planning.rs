//! Planning runs: made, continued, and repaired.

use super::call::{Call, Spending};
use crate::cli::exit::{CliError, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service;
use kb_service::service::planning::{
    self, Draft, MAX_REVISIONS, PlanRequest, Planned, Revision, continue_plan, read_plan,
};

/// What a planning run gave in the end.
pub(super) enum Found {
    /// A plan, and the run that made it.
    Draft(Box<Draft>, String),
    /// A question to the person.
    Question(String),
    /// A run that did not succeed.
    Ended(Exit),
}

impl Call {
    /// Makes a planning run; its id, or the exit code if it did not succeed.
    pub(super) fn plan(
        &self,
        goal: &str,
        (revision, failed): (Option<Revision>, Option<String>),
        spending: &mut Spending,
        terminal: &mut Terminal,
    ) -> Result<Result<String, Exit>, CliError> {
        let is_first = revision.is_none() && failed.is_none();
        let request = PlanRequest {
            goal: goal.to_owned(),
            revision,
            failed,
            run: self.args.run_id.clone().filter(|_| is_first),
            script: self.args.script.clone(),
            overrides: self.overrides(spending),
        };
        let (exit, run) = self.drive(planning::plan(&self.project, request), true, terminal)?;
        self.ended(exit, run, spending, terminal)
    }

    /// Adds what a planning run has cost; its id, or the exit code if it did not succeed.
    fn ended(
        &self,
        exit: Exit,
        run: String,
        spending: &mut Spending,
        terminal: &mut Terminal,
    ) -> Result<Result<String, Exit>, CliError> {
        let view = service::show_run(&self.project.context, &run)?;
        spending.spent += view.usage.cost_usd.unwrap_or_default();
        if exit == Exit::Done {
            return Ok(Ok(run));
        }
        if !view.status.has_ended() {
            terminal.note(&format!("go on: {} do --from {run}\n", self.program))?;
        }
        Ok(Err(exit))
    }

    /// Continues a planning run that has not ended.
    pub(super) fn continued(
        &self,
        run: String,
        spending: &mut Spending,
        terminal: &mut Terminal,
    ) -> Result<Result<String, Exit>, CliError> {
        let view = service::show_run(&self.project.context, &run)?;
        if view.status.has_ended() || view.definition != planning::ORCHESTRATOR {
            return Ok(Ok(run));
        }
        terminal.note(&format!("continues the planning run {run}\n"))?;
        let overrides = self.overrides(spending);
        let prepared = async { continue_plan(&self.project, &run, &overrides) };
        let (exit, run) = self.drive(prepared, true, terminal)?;
        self.ended(exit, run, spending, terminal)
    }

    /// The plan of a planning run, which is repaired if it has errors.
    pub(super) fn usable(
        &self,
        mut run: String,
        goal: &mut String,
        spending: &mut Spending,
        terminal: &mut Terminal,
    ) -> Result<Found, CliError> {
        for _ in 0..=MAX_REVISIONS {
            let (of_run, planned) = read_plan(&self.project, &run)?;
            *goal = of_run;
            let unusable = match planned {
                Planned::Draft(draft) => return Ok(Found::Draft(draft, run)),
                Planned::Question(question) => return Ok(Found::Question(question)),
                Planned::Unusable(unusable) => unusable,
            };
            let Some(revision) = unusable.revision else { return Err(unusable.error.into()) };
            let count = revision.problems.len();
            terminal.note(&format!(
                "the plan has {count} {}; repair {} of {MAX_REVISIONS}\n",
                if count == 1 { "error" } else { "errors" },
                revision.number
            ))?;
            run = match self.plan(goal, (Some(revision), None), spending, terminal)? {
                Ok(run) => run,
                Err(exit) => return Ok(Found::Ended(exit)),
            };
        }
        unreachable!("the last repair has no further one")
    }
}
