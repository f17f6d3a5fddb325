//! A plan whose run failed: the planner is asked for other steps, and the new plan is proposed like the first one.

use super::call::{Call, Spending};
use super::planning::Found;
use crate::cli::exit::{CliError, Exit};
use crate::cli::render::table::plain;
use crate::cli::terminal::Terminal;
use kb_service::service::planning::{FailedPlan, revising_plan};

impl Call {
    /// Revises a plan and runs it; `None` if it may not be revised any more.
    pub(super) fn revise(
        &self,
        failed: FailedPlan,
        spending: &mut Spending,
        terminal: &mut Terminal,
    ) -> Result<Option<Exit>, CliError> {
        let most = self.project.catalog.settings.orchestrator.revisions();
        if failed.number > most {
            let times = if most == 1 { "time" } else { "times" };
            terminal.note(&format!(
                "the plan is not revised: `orchestrator.maxRevisions` permits it {most} {times}\n"
            ))?;
            return Ok(None);
        }
        let steps: Vec<String> = failed.evidence.iter().map(|own| plain(&own.step)).collect();
        terminal.note(&format!(
            "{} failed; the planner revises the plan ({} of {most})\n",
            steps.join(", "),
            failed.number
        ))?;
        let mut goal = failed.goal.clone();
        // The answer to an interrupted or finished question is not paid again.
        let run = match revising_plan(&self.project, &failed.run)? {
            Some(run) => self.continued(run, spending, terminal)?,
            None => {
                let of = Some(failed.run.to_string());
                self.plan(&goal, (None, of), spending, terminal)?
            }
        };
        let run = match run {
            Ok(run) => run,
            Err(exit) => return Ok(Some(exit)),
        };
        match self.usable(run, &mut goal, spending, terminal)? {
            Found::Draft(draft, run) => self.propose(*draft, &run, spending, terminal).map(Some),
            Found::Ended(exit) => Ok(Some(exit)),
            Found::Question(question) => {
                terminal.err(&format!("{}\n", plain(&question)))?;
                terminal.note("the planner asks; answer it in a new goal\n")?;
                Ok(Some(Exit::Waiting))
            }
        }
    }
}
