//! `kb playbook plan`

use super::run::{OverrideArgs, ParamArgs};
use super::warnings::warn;
use crate::cli::asking::ask_param;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::plain;
use crate::cli::render::time_range;
use crate::cli::terminal::{DIM, TITLE, Terminal, paint};
use kb_base::value::json_text;
use kb_service::service::{self, Environment, PlanView, PlannedStep, Project, Strength};

/// Show the plan of a playbook without running it
///
/// The plan has the order of the steps, their dependencies, conditions, models, tools, gates and
/// prompts as far as they can be rendered, and an estimate of the model cost.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id or path of the playbook
    #[arg(value_name = "ID|PATH")]
    id: String,
    #[command(flatten)]
    params: ParamArgs,
    #[command(flatten)]
    overrides: OverrideArgs,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find_or_file(environment, &args.id)?;
    warn(&project, &args.id, terminal)?;
    let mut request = args.params.request(args.id);
    request.overrides = args.overrides.overrides();
    let can_ask = terminal.can_ask() && !args.json;
    let mut ask = |question: &service::ParamQuestion| ask_param(question, terminal);
    let ask: Option<&mut service::Ask<'_>> = if can_ask { Some(&mut ask) } else { None };
    let view = service::plan_view(&project, &request, ask)?;
    if args.json {
        terminal.json(&view)?
    } else {
        terminal.out(&text(&view))?
    }
    Ok(Exit::Done)
}

fn text(view: &PlanView) -> String {
    let mut out =
        format!("{}  {}\n", paint(TITLE, &plain(&view.definition)), paint(DIM, &plain(&view.path)));
    for (name, value) in &view.params {
        out.push_str(&format!("  {} = {}\n", plain(name), plain(&json_text(value))));
    }
    for (i, planned) in view.steps.iter().enumerate() {
        out.push_str(&format!("\n{:>3}. {}", i + 1, step(planned)));
    }
    out.push_str(&format!("\ncritical path: {}\n", view.critical_path.join(" → ")));
    let uses_models = view.steps.iter().any(|step| step.model.is_some());
    match &view.cost {
        _ if !uses_models => out.push_str("no model calls\n"),
        None => out.push_str("cost: unknown, a model or its price is missing\n"),
        Some(cost) => {
            out.push_str(&format!("cost: ${:.4} to ${:.2}\n", cost.min_usd, cost.max_usd));
        }
    }
    if uses_models {
        out.push_str(&format!("time: {}\n", time_range(&view.time)));
    }
    out
}

fn step(planned: &PlannedStep) -> String {
    let mut out = format!("{}  {}\n", paint(TITLE, &plain(&planned.id)), plain(&planned.what));
    let mut row = |title: &str, text: &str| {
        out.push_str(&format!("     {} {text}\n", paint(DIM, &format!("{title:<7}"))));
    };
    if !planned.after.is_empty() {
        let edge = |edge: &service::Edge| match edge.strength {
            Strength::Needs => edge.step.clone(),
            Strength::MaySkip | Strength::Watch => {
                format!("{} ({})", edge.step, edge.strength.as_str())
            }
        };
        row("after", &planned.after.iter().map(edge).collect::<Vec<_>>().join(", "));
    }
    if let Some(condition) = &planned.condition {
        row("if", &plain(condition));
    } else if planned.may_skip {
        row("if", "its dependencies are not skipped");
    }
    if let Some(model) = &planned.model {
        row("model", model);
    }
    if !planned.tools.is_empty() {
        row("tools", &planned.tools.join(", "));
    }
    if let Some(causes) = service::ConfinedAhead::line(&planned.sandbox) {
        row("sandbox", &plain(&causes));
    }
    for child in &planned.children {
        let causes = service::ConfinedAhead::line(&child.sandbox).unwrap_or_default();
        row("sandbox", &plain(&format!("{}: {causes}", child.step)));
    }
    if !planned.checks.is_empty() {
        row("gate", &plain(&planned.checks.join(", ")));
    }
    if let Some(prompt) = &planned.prompt {
        let mark = if prompt.complete { "" } else { " (partly rendered)" };
        let text = prompt.text.trim_end().replace('\n', "\n             ");
        row("prompt", &format!("{text}{mark}"));
    }
    out
}
