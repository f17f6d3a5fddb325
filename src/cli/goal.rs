//! `kb do`: from a sentence to a verified run.

use super::asking::ask_param;
use super::driving::{DisplayArgs, drive};
use super::exit::{CliError, CliResult, Exit};
use super::playbook::{dollars, program_for};
use super::render::diagnostics;
use super::render::next::quoted;
use super::render::table::plain;
use super::runtime::{self, Workers};
use super::terminal::{DIM, GOOD, Terminal, WARNING, paint};
use kb_base::value::{Json, Money, RunLimits};
use kb_process::edit;
use kb_service::service::planning::{
    self, Draft, MAX_REVISIONS, PlanRequest, Planned, Revision, continue_plan, open_plan, read_plan,
};
use kb_service::service::runs::{Overrides, Prepared};
use kb_service::service::{
    self, Choice, Environment, GraphFormat, Match, Project, ServiceError, StartRequest,
};
use serde_json::json;
use std::path::PathBuf;

/// Plan how a goal is reached, and run the plan
///
/// A playbook whose triggers match the goal is used. Otherwise a model of the tier `large` writes a plan for the
/// specialists of the project. The plan is a playbook: you see it, edit or save it, and it runs like any other.
/// Its last gate runs the checks of the goal.
///
/// Without a terminal, the plan is printed and not run unless `--yes` is given.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    /// What is to be reached, as a sentence
    #[arg(required_unless_present = "from")]
    goal: Option<String>,
    /// Print the plan; run nothing of it
    #[arg(long, conflicts_with_all = ["yes", "save"])]
    plan: bool,
    /// Run the plan without a question; tools that need an approval still ask
    #[arg(long)]
    yes: bool,
    /// Maximum cost of planning and run together, in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Money>,
    /// Maximum tokens of the model calls of each run
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Save the plan as a playbook with this id
    #[arg(long, value_name = "ID")]
    save: Option<String>,
    /// Use the plan of this planning run, which is continued if it was interrupted
    #[arg(long, value_name = "RUN", conflicts_with = "goal")]
    from: Option<String>,
    /// Plan even if a playbook matches
    #[arg(long)]
    new_plan: bool,
    /// Use a script in place of the model (`kb schema script`); the step of the planner is `plan`
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Use this model for the planner and all specialists
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    display: DisplayArgs,
}

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
        planning::require_free(&project, id)?;
    }
    let program = program_for(&project.context);
    let command = Command { args, project, program };
    if command.args.from.is_none() && !command.args.new_plan {
        match service::choose(&command.project, &goal) {
            Choice::Clear(found) => return command.matched(&found, terminal),
            Choice::Unclear(all) => note_close(&all, terminal)?,
            Choice::Nothing => {}
        }
    }
    let mut spending = Spending { limit: command.args.budget, spent: 0.0 };
    let mut from = command.args.from.clone();
    for _ in 0..=QUESTIONS {
        let run = match from.take() {
            Some(run) => run,
            None => match open_plan(&command.project, &goal)? {
                Some(run) => run,
                None => match command.plan(&goal, None, &mut spending, terminal)? {
                    Ok(run) => run,
                    Err(exit) => return Ok(exit),
                },
            },
        };
        let run = match command.continued(run, &mut spending, terminal)? {
            Ok(run) => run,
            Err(exit) => return Ok(exit),
        };
        let question = match command.usable(run, &mut goal, &mut spending, terminal)? {
            Found::Draft(draft, run) => return command.propose(*draft, &run, &spending, terminal),
            Found::Ended(exit) => return Ok(exit),
            Found::Question(question) => question,
        };
        terminal.err(&format!("{}\n", plain(&question)))?;
        let answer = if command.can_ask(terminal) { terminal.ask("Answer:") } else { None };
        let Some(answer) = answer.filter(|answer| !answer.trim().is_empty()) else {
            let again = format!("{} do {}", command.program, quoted(&format!("{goal}. ANSWER")));
            terminal.note(&format!("the planner asks; answer in the goal: {again}\n"))?;
            return Ok(Exit::Waiting);
        };
        goal = format!("{goal}\n\n{question}\n{}", answer.trim());
    }
    terminal.note("the planner asks again and again; state the goal more precisely\n")?;
    Ok(Exit::Waiting)
}

/// What a planning run gave in the end.
enum Found {
    /// A plan, and the run that made it.
    Draft(Box<Draft>, String),
    /// A question to the person.
    Question(String),
    /// A run that did not succeed.
    Ended(Exit),
}

/// What was spent, and may be.
struct Spending {
    limit: Option<Money>,
    /// US dollars.
    spent: f64,
}

impl Spending {
    /// What is left of the limit.
    fn left(&self) -> Option<Money> {
        self.limit.map(|limit| Money::from_usd((limit.usd() - self.spent).max(0.0)))
    }
}

/// One call of `kb do`.
struct Command {
    args: Args,
    project: Project,
    program: String,
}

impl Command {
    fn can_ask(&self, terminal: &Terminal) -> bool {
        terminal.can_ask() && !self.args.display.json
    }

    fn overrides(&self, spending: &Spending) -> Overrides {
        let limits = RunLimits {
            cost: spending.left(),
            max_tokens: self.args.max_tokens,
            ..RunLimits::default()
        };
        Overrides { model: self.args.model.clone(), limits, ..Overrides::default() }
    }

    /// Drives a run; the second value is its id.
    fn drive(
        &self,
        prepared: impl Future<Output = Result<Prepared, ServiceError>>,
        is_part: bool,
        terminal: &mut Terminal,
    ) -> Result<(Exit, String), CliError> {
        let mut display = self.args.display;
        display.is_part = is_part;
        runtime::block_on(Workers::All, async {
            let prepared = prepared.await?;
            let run = prepared.run().to_string();
            Ok((drive(prepared, display, &self.program, terminal).await?, run))
        })?
    }

    /// Makes a planning run; its id, or the exit code if it did not succeed.
    fn plan(
        &self,
        goal: &str,
        revision: Option<Revision>,
        spending: &mut Spending,
        terminal: &mut Terminal,
    ) -> Result<Result<String, Exit>, CliError> {
        let request = PlanRequest {
            goal: goal.to_owned(),
            revision,
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
    fn continued(
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
    fn usable(
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
            run = match self.plan(goal, Some(revision), spending, terminal)? {
                Ok(run) => run,
                Err(exit) => return Ok(Found::Ended(exit)),
            };
        }
        unreachable!("the last repair has no further one")
    }

    /// Shows the plan, asks, and runs it.
    fn propose(
        &self,
        draft: Draft,
        run: &str,
        spending: &Spending,
        terminal: &mut Terminal,
    ) -> CliResult {
        let mut draft = match &self.args.save {
            Some(id) => draft.named(id)?,
            None => draft,
        };
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
            return Ok(Exit::Done);
        }
        let is_approved = self.args.yes && !draft.is_unsure();
        if !is_approved && !self.can_ask(terminal) {
            let why = if self.args.yes { "its confidence is low" } else { "nobody approved it" };
            let again = format!("{} do --from {run}", self.program);
            let yes = if draft.is_unsure() { "on a terminal" } else { "with `--yes`" };
            terminal.note(&format!("not run: {why}; run it {yes}: {again}\n"))?;
            return Ok(Exit::Waiting);
        }
        while !is_approved {
            let typed = terminal.ask("Run it? [yes, edit, save, no]").unwrap_or_default();
            match typed.trim() {
                "y" | "yes" => break,
                "e" | "edit" => {
                    if let Some(edited) = self.edited(&draft, terminal)? {
                        draft = edited;
                        terminal.out(&self.shown(&draft, &overrides)?)?;
                    }
                }
                "s" | "save" => return self.save(&draft, terminal),
                "" | "n" | "no" => {
                    terminal.note(&format!("later: {} do --from {run}\n", self.program))?;
                    return Ok(Exit::Waiting);
                }
                _ => {}
            }
        }
        let path = draft.path.clone();
        let begun = draft.begin(self.args.script.clone(), overrides);
        let (exit, run) = self.drive(begun, false, terminal)?;
        terminal.note(&format!("the plan is in {}\n", plain(&path)))?;
        self.conclude(&run, exit, terminal)?;
        Ok(exit)
    }

    /// Says what the checks of the goal prove.
    fn conclude(&self, run: &str, exit: Exit, terminal: &mut Terminal) -> Result<(), CliError> {
        if exit != Exit::Done {
            return Ok(());
        }
        let (outputs, _) = service::run_output(&self.project.context, run, None)?;
        let text = match outputs.get("goal").and_then(Json::as_str) {
            Some("complete") => format!(
                "{}: its checks passed, and did not before the work\n",
                paint(GOOD, "goal complete")
            ),
            Some(_) => format!(
                "{}: no check proves that the work reached it\n",
                paint(WARNING, "goal unchecked")
            ),
            None => return Ok(()),
        };
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
            "\n{}  {:.0} %\n{}  {cost}\n",
            paint(DIM, "confidence"),
            draft.confidence * 100.0,
            paint(DIM, "cost      "),
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
        }))
    }

    /// The plan after the person has edited it; `None` if it stays as it is.
    fn edited(&self, draft: &Draft, terminal: &mut Terminal) -> Result<Option<Draft>, CliError> {
        let variables = &self.project.context.environment.variables;
        let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| variables.get(name));
        let editor = editor.filter(|editor| !editor.is_empty()).map_or("vi", |editor| editor);
        let file = self.project.context.state_dir.join("plan.yml");
        std::fs::write(&file, &draft.text)?;
        loop {
            edit(editor, &file)?;
            match draft.edited(std::fs::read_to_string(&file)?) {
                Ok(edited) => return Ok(Some(edited)),
                Err(ServiceError::Definitions { diagnostics, sources }) => {
                    diagnostics::print(&diagnostics, &sources, terminal)?;
                }
                Err(error) => terminal.err(&format!("{error}\n"))?,
            }
            let typed = terminal.ask("Edit it again? [yes, no]").unwrap_or_default();
            if !matches!(typed.trim(), "y" | "yes") {
                return Ok(None);
            }
        }
    }

    fn save(&self, draft: &Draft, terminal: &mut Terminal) -> CliResult {
        let saved = match &self.args.save {
            Some(_) => draft.clone(),
            None => {
                let typed = terminal.ask(&format!("Id [{}]:", draft.id)).unwrap_or_default();
                let id = if typed.trim().is_empty() { &draft.id } else { typed.trim() };
                draft.named(id)?
            }
        };
        saved.save()?;
        let run = format!("{} playbook run {}", self.program, saved.id);
        terminal.out(&format!("saved {}\n", plain(&saved.path)))?;
        terminal.note(&format!("run it: {run}\n"))?;
        Ok(Exit::Done)
    }

    /// Shows the playbook that matches the goal, asks, and runs it.
    fn matched(&self, found: &Match, terminal: &mut Terminal) -> CliResult {
        let text = format!(
            "matched {}: {:.0} %, {} (`{}`)\n",
            plain(&found.id),
            found.score * 100.0,
            plain(&found.why),
            plain(&found.trigger)
        );
        terminal.note(&text)?;
        let graph = service::graph(&self.project, &found.id, GraphFormat::Text)?;
        if self.args.plan && self.args.display.json {
            terminal.json(&json!({"matched": found}))?;
            return Ok(Exit::Done);
        }
        if self.args.display.json {
            terminal.err(&graph)?
        } else {
            terminal.out(&graph)?
        }
        if self.args.plan {
            return Ok(Exit::Done);
        }
        if !self.args.yes {
            if !self.can_ask(terminal) {
                terminal
                    .note("not run: nobody approved it; `--yes` runs it, `--new-plan` plans\n")?;
                return Ok(Exit::Waiting);
            }
            let typed = terminal.ask("Run it? [yes, no]").unwrap_or_default();
            if !matches!(typed.trim(), "y" | "yes") {
                terminal.note("`--new-plan` plans in place of it\n")?;
                return Ok(Exit::Waiting);
            }
        }
        let spending = Spending { limit: self.args.budget, spent: 0.0 };
        let request = StartRequest {
            definition: found.id.clone(),
            params: found.params.clone().into_iter().collect(),
            script: self.args.script.clone(),
            overrides: self.overrides(&spending),
            ..StartRequest::default()
        };
        let can_ask = self.can_ask(terminal);
        let mut ask = |question: &service::ParamQuestion| ask_param(question, terminal);
        let ask: Option<&mut service::Ask<'_>> = if can_ask { Some(&mut ask) } else { None };
        let prepared = service::start(self.project.clone(), request, ask);
        let (exit, run) = self.drive(prepared, false, terminal)?;
        self.conclude(&run, exit, terminal)?;
        Ok(exit)
    }
}

/// Names the playbooks that match a goal a little.
fn note_close(all: &[Match], terminal: &mut Terminal) -> std::io::Result<()> {
    let close = |found: &Match| format!("{} ({:.0} %)", plain(&found.id), found.score * 100.0);
    let close: Vec<String> = all.iter().take(3).map(close).collect();
    terminal.note(&format!("no playbook clearly matches; close: {}\n", close.join(", ")))
}
