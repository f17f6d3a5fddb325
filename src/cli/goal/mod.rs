//! `kb do`: from a sentence to a verified run.
//!
//! `call` has the arguments, `planning` makes the plan, `proposal` shows and runs it, `editing` takes it from the hands of
//! a person, `answer` says what the run found, `revising` replaces steps after a failure, `matched` runs a playbook that matches the goal.

mod answer;
mod call;
mod editing;
mod matched;
mod planning;
mod proposal;
mod revising;

pub(super) use call::Args;

use super::exit::{CliError, CliResult, Exit};
use super::playbook::program_for;
use super::render::next::quoted;
use super::render::table::plain;
use super::terminal::Terminal;
use call::{Call, Spending};
use kb_service::service::planning::{failed_plan, open_plan, require_free};
use kb_service::service::{self, Choice, Environment, Project};
use matched::note_close;
use planning::Found;

/// How often a planner may ask the person.
const QUESTIONS: u32 = 3;

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    environment.expect_processes();
    let project = Project::find(environment)?;
    let mut goal = args.goal.clone().unwrap_or_default().trim().to_owned();
    if goal.is_empty() && args.from.is_none() {
        return Err(CliError::Usage {
            message: "the goal is empty".to_owned(),
            help: Some("state it as a sentence: `kb do \"add tests for the parser\"`".to_owned()),
        });
    }
    if let Some(id) = &args.save {
        require_free(&project, id)?;
    }
    let program = program_for(&project.context);
    let call = Call { args, project, program };
    if call.args.from.is_none() && !call.args.new_plan {
        match service::choose(&call.project, &goal) {
            Choice::Clear(found) => return call.matched(&found, terminal),
            Choice::Unclear(all) => note_close(&all, terminal)?,
            Choice::Nothing => {}
        }
    }
    let mut spending = Spending { limit: call.args.budget, spent: 0.0 };
    let mut from = call.args.from.clone();
    for _ in 0..=QUESTIONS {
        let run = match from.take() {
            Some(run) => run,
            None => match open_plan(&call.project, &goal)? {
                Some(run) if call.args.run_id.is_none() => run,
                Some(_) | None => match call.plan(&goal, (None, None), &mut spending, terminal)? {
                    Ok(run) => run,
                    Err(exit) => return Ok(exit),
                },
            },
        };
        if let Some(failed) = failed_plan(&call.project, &run)? {
            let exit = call.revise(failed, &mut spending, terminal)?;
            return Ok(exit.unwrap_or(Exit::RunFailed));
        }
        let run = match call.continued(run, &mut spending, terminal)? {
            Ok(run) => run,
            Err(exit) => return Ok(exit),
        };
        let question = match call.usable(run, &mut goal, &mut spending, terminal)? {
            Found::Draft(draft, run) => return call.propose(*draft, &run, &mut spending, terminal),
            Found::Ended(exit) => return Ok(exit),
            Found::Question(question) => question,
        };
        terminal.err(&format!("{}\n", plain(&question)))?;
        let answer = if call.can_ask(terminal) { terminal.ask("Answer:") } else { None };
        let Some(answer) = answer.filter(|answer| !answer.trim().is_empty()) else {
            let again = format!("{} do {}", call.program, quoted(&format!("{goal}. ANSWER")));
            terminal.note(&format!("the planner asks; answer in the goal: {again}\n"))?;
            return Ok(Exit::Waiting);
        };
        goal = format!("{goal}\n\n{question}\n{}", answer.trim());
    }
    terminal.note("the planner asks again and again; state the goal more precisely\n")?;
    Ok(Exit::Waiting)
}
