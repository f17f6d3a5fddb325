use super::run::{OverrideArgs, ParamArgs};
use crate::cli::terminal::{DIM, TITLE, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service::{self, PlanView, PlannedStep};
use crate::value::json_text;

/// Show what a run would do; nothing runs
///
/// Prompts as far as they can be rendered, the order, what may be skipped, models, tools, gates, and
/// what the models may cost.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Its id, or a path
    #[arg(value_name = "ID|PATH")]
    id: String,
    #[command(flatten)]
    params: ParamArgs,
    #[command(flatten)]
    overrides: OverrideArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let project = service::here_or_bare(&args.id)?;
    super::warn(&project, &args.id, terminal)?;
    let mut start = args.params.start(args.id);
    start.overrides = args.overrides.overrides();
    let can_ask = terminal.can_ask() && !args.json;
    let mut ask = |question: &str| terminal.ask(question);
    let ask: Option<&mut service::Ask<'_>> = if can_ask { Some(&mut ask) } else { None };
    let view = service::plan_view(&project, &start, ask)?;
    match args.json {
        true => terminal.json(&view)?,
        false => terminal.out(&text(&view))?,
    }
    Ok(Exit::Done)
}

fn text(view: &PlanView) -> String {
    let mut out = format!("{}  {}\n", paint(TITLE, &view.definition), paint(DIM, &view.path));
    for (name, value) in &view.params {
        out.push_str(&format!("  {name} = {}\n", json_text(value)));
    }
    for (i, planned) in view.steps.iter().enumerate() {
        out.push_str(&format!("\n{:>3}. {}", i + 1, step(planned)));
    }
    out.push_str(&format!("\nlongest chain: {}\n", view.critical_path.join(" → ")));
    let asks = view.steps.iter().any(|step| step.model.is_some());
    match &view.cost {
        _ if !asks => out.push_str("no model is asked\n"),
        None => out.push_str("cost: not known, a model or its price is missing\n"),
        Some(cost) => {
            out.push_str(&format!("cost: ${:.4} to ${:.2}\n", cost.min_usd, cost.max_usd));
        }
    }
    out
}

fn step(planned: &PlannedStep) -> String {
    let mut out = format!("{}  {}\n", paint(TITLE, &planned.id), planned.what);
    let mut row = |title: &str, text: &str| {
        out.push_str(&format!("     {} {text}\n", paint(DIM, &format!("{title:<7}"))));
    };
    if !planned.after.is_empty() {
        let edge = |edge: &service::Edge| match edge.strength {
            "needs" => edge.step.clone(),
            strength => format!("{} ({strength})", edge.step),
        };
        row("after", &planned.after.iter().map(edge).collect::<Vec<_>>().join(", "));
    }
    if let Some(condition) = &planned.condition {
        row("if", condition);
    } else if planned.may_skip {
        row("if", "what it needs has run");
    }
    if let Some(model) = &planned.model {
        row("model", model);
    }
    if !planned.tools.is_empty() {
        row("tools", &planned.tools.join(", "));
    }
    if !planned.checks.is_empty() {
        row("gate", &planned.checks.join(", "));
    }
    if let Some(prompt) = &planned.prompt {
        let mark = if prompt.complete { "" } else { " (in part)" };
        let text = prompt.text.trim_end().replace('\n', "\n             ");
        row("prompt", &format!("{text}{mark}"));
    }
    out
}
