//! A plan before a person: shown, approved, run, and what its checks prove in the end.

use super::answer::answered;
use super::call::{Call, Spending};
use crate::cli::exit::{CliError, CliResult, Exit};
use crate::cli::render::table::plain;
use crate::cli::render::time_range;
use crate::cli::terminal::{DIM, GOOD, Terminal, WARNING, paint};
use kb_base::value::Json;
use kb_service::service::planning::{Draft, failed_plan, goal_answer};
use kb_service::service::runs::Overrides;
use kb_service::service::{self, GraphFormat};
use serde_json::json;

impl Call {
    /// Shows the plan, asks, and runs it.
    pub(super) fn propose(
        &self,
        draft: Draft,
        run: &str,
        spending: &mut Spending,
        terminal: &mut Terminal,
    ) -> CliResult {
        let mut draft = match &self.args.save {
            Some(id) if draft.revision.is_none() => draft.named(id)?,
            Some(_) | None => draft,
        };
        // A revision after the run is another plan, which no person has approved yet.
        let approved =
            self.args.approved.as_ref().filter(|_| self.args.from.as_deref() == Some(run));
        let approved = approved.map(std::fs::read_to_string).transpose()?;
        if let Some(text) = approved.as_ref().filter(|text| **text != draft.text) {
            draft = draft.edited(text.clone())?;
        }
        let overrides = self.overrides(spending);
        if self.args.plan && self.args.display.json {
            terminal.json(&self.json(&draft, run, &overrides)?)?;
            return Ok(Exit::Done);
        }
        let shown = self.shown(&draft, &overrides)?;
        if self.args.display.json {
            terminal.err(&shown)?
        } else {
            terminal.out(&shown)?
        }
        if self.args.plan {
            terminal.note(&format!("run it: {} do --from {run} --yes\n", self.program))?;
            return Ok(Exit::Done);
        }
        let is_approved = approved.is_some() || (self.args.yes && !draft.is_unsure());
        if !is_approved && !self.can_ask(terminal) {
            let why = if self.args.yes { "its confidence is low" } else { "no person approved it" };
            let again = format!("{} do --from {run}", self.program);
            let yes = if draft.is_unsure() { "on a terminal" } else { "with `--yes`" };
            terminal.note(&format!("not run: {why}; run it {yes}: {again}\n"))?;
            return Ok(Exit::Waiting);
        }
        if !is_approved {
            draft = match self.approve(draft, run, &overrides, terminal)? {
                Ok(approved) => approved,
                Err(exit) => return Ok(exit),
            };
        }
        let path = draft.path.clone();
        let id = self.args.run_id.clone().filter(|_| approved.is_some());
        let started = draft.begin(self.args.script.clone(), overrides, id);
        let (exit, run) = self.drive(started, false, terminal)?;
        terminal.note(&format!("the plan is in {}\n", plain(&path)))?;
        self.conclude(&run, exit, terminal)?;
        if exit == Exit::Done {
            return Ok(exit);
        }
        let view = service::show_run(&self.project.context, &run)?;
        spending.spent += view.usage.cost_usd.unwrap_or_default();
        let Some(failed) = failed_plan(&self.project, &run)? else { return Ok(exit) };
        Ok(self.revise(failed, spending, terminal)?.unwrap_or(exit))
    }

    /// Asks the person, who may edit or save the plan; the plan to run, or the exit code without a run.
    fn approve(
        &self,
        mut draft: Draft,
        run: &str,
        overrides: &Overrides,
        terminal: &mut Terminal,
    ) -> Result<Result<Draft, Exit>, CliError> {
        loop {
            let typed = terminal.ask("Run it? [yes, edit, save, no]").unwrap_or_default();
            match typed.trim() {
                "y" | "yes" => return Ok(Ok(draft)),
                "e" | "edit" => {
                    if let Some(edited) = self.edited(&draft, terminal)? {
                        draft = edited;
                        terminal.out(&self.shown(&draft, overrides)?)?;
                    }
                }
                "s" | "save" => return self.save(&draft, terminal).map(Err),
                "" | "n" | "no" => {
                    terminal.note(&format!("later: {} do --from {run}\n", self.program))?;
                    return Ok(Err(Exit::Waiting));
                }
                _ => {}
            }
        }
    }

    /// Says what the checks of the goal prove.
    pub(super) fn conclude(
        &self,
        run: &str,
        exit: Exit,
        terminal: &mut Terminal,
    ) -> Result<(), CliError> {
        if exit != Exit::Done {
            return Ok(());
        }
        let (outputs, _) = service::run_output(&self.project.context, run, None)?;
        let mut text = match outputs.get("goal").and_then(Json::as_str) {
            Some("complete") => format!(
                "{}: its checks pass, and not all of them did before the work\n",
                paint(GOOD, "goal complete")
            ),
            Some("unchecked") => format!(
                "{}: no check proves that the work reached it\n",
                paint(WARNING, "goal unchecked")
            ),
            _ => return Ok(()),
        };
        if let Some(found) = goal_answer(&self.project.context, run)? {
            text.push_str(&answered(&found));
        }
        if self.args.display.json {
            terminal.err(&text)?
        } else {
            terminal.out(&text)?
        }
        Ok(())
    }

    /// The plan as it is run: its graph, what it may cost, and its text.
    fn shown(&self, draft: &Draft, overrides: &Overrides) -> Result<String, CliError> {
        let graph = service::graph(draft.project(), &draft.id, GraphFormat::Text)?;
        let view = draft.view(overrides)?;
        let cost = match &view.cost {
            None => "unknown, a model or its price is missing".to_owned(),
            Some(cost) => format!("${:.4} to ${:.2}", cost.min_usd, cost.max_usd),
        };
        let mut text = String::new();
        for line in draft.text.lines() {
            text.push_str(&format!("{}\n", plain(line)));
        }
        text.push('\n');
        text.push_str(&graph);
        text.push_str(&format!(
            "\n{}  {:.0} %\n{}  {cost}\n{}  {}\n",
            paint(DIM, "confidence"),
            draft.confidence * 100.0,
            paint(DIM, "cost      "),
            paint(DIM, "time      "),
            time_range(&view.time),
        ));
        if !draft.has_checks() {
            let none = "the plan has no checks of the goal: its result will be `unchecked`";
            text.push_str(&format!("{}\n", paint(WARNING, none)));
        }
        Ok(text)
    }

    fn json(&self, draft: &Draft, run: &str, overrides: &Overrides) -> Result<Json, CliError> {
        let view = draft.view(overrides)?;
        Ok(json!({
            "goal": draft.goal,
            "id": draft.id,
            "run": run,
            "confidence": draft.confidence,
            "needsApproval": draft.is_unsure(),
            "playbook": draft.text,
            "steps": view.steps,
            "cost": view.cost,
            "time": view.time,
        }))
    }
}
