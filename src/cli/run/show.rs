//! `kb run show`

use crate::cli::render::table::{Table, plain};
use crate::cli::render::{Status, check_text, evidence_text, spent, summary, time};
use crate::cli::terminal::{DIM, HINT, TITLE, Terminal, WARNING, paint};
use crate::cli::{CliResult, Exit};
use crate::service::runs::ProjectContext;
use crate::service::{self, Environment};
use crate::wire::{InstanceView, QuestionKind, RunStatus, RunView, StepStatus, Verdict};

/// Show the status of a run and its steps
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    run: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let view = service::show_run(&ProjectContext::find(environment)?, &args.run)?;
    match args.json {
        true => terminal.json(&view)?,
        false => terminal.out(&text(&view))?,
    }
    Ok(Exit::Done)
}

fn text(view: &RunView) -> String {
    let status = view.status.styled();
    let started = paint(DIM, &view.started_at);
    let run = paint(TITLE, &view.run);
    let unproven = summary::unproven(view.unproven.unwrap_or(0));
    let mut out = format!("{run} {status}{unproven}: {}, {started}\n", view.definition);
    let whole = [work(view), spent(&view.usage)];
    let whole: Vec<String> = whole.into_iter().flatten().collect();
    if !whole.is_empty() {
        out.push_str(&format!("{}\n", whole.join(", ")));
    }
    out.push_str(&format!("\n{}", steps(view)));
    if view.steps.iter().any(|step| step.tolerated) {
        out.push_str("* failure tolerated\n");
    }
    for step in &view.steps {
        let open: Vec<_> = step.checks.iter().filter(|c| c.verdict != Verdict::Passed).collect();
        if !open.is_empty() {
            out.push_str(&format!("\ngate of {}\n", paint(TITLE, &plain(&step.instance))));
        }
        for check in open {
            out.push_str(&format!("  {}\n", check_text(check)));
            out.extend(evidence_text(check).map(|text| format!("    {text}\n")));
        }
    }
    if let Some(error) = &view.error {
        out.push_str(&format!("\n{} [{}]\n", plain(&error.message), error.code));
        if let Some(help) = &error.help {
            out.push_str(&format!("  {} {}\n", paint(HINT, "help:"), plain(help)));
        }
    }
    let open = view.steps.iter().filter_map(|step| Some((step, step.question.as_ref()?)));
    for (step, question) in open.clone() {
        out.push_str(&format!(
            "\n{} {}: {}\n",
            paint(WARNING, "waits"),
            plain(&step.instance),
            plain(&question.text)
        ));
    }
    let mut asks = open.filter(|(_, question)| question.kind == QuestionKind::Ask);
    let asks = asks.next().map(|(step, _)| &step.instance);
    if let Some(command) = summary::next_command("kb", &view.run, view.status, asks) {
        out.push_str(&format!("\nnext: {}\n", paint(TITLE, &command)));
    }
    out
}

/// The time of the last attempt to run it, and of all of them.
fn work(view: &RunView) -> Option<String> {
    let (total, last) = (view.work_ms?, view.attempt_ms.unwrap_or_default());
    let now = if view.status == RunStatus::Running { " so far" } else { "" };
    Some(match view.attempt_ms {
        Some(_) if last < total => {
            format!("{}{now} ({} in total)", time(last), time(total))
        }
        _ => format!("{}{now}", time(total)),
    })
}

/// The status of a step. A step that was running when its process was killed is interrupted.
fn step_status(view: &RunView, step: &InstanceView) -> &'static str {
    let is_active = matches!(step.status, StepStatus::Running | StepStatus::Verifying);
    match view.status {
        RunStatus::Interrupted if is_active => "interrupted",
        _ => step.status.name(),
    }
}

fn steps(view: &RunView) -> String {
    let mut table = Table::new(["STEP", "STATUS", "ATTEMPTS", "TIME", "TOKENS", "GATE", "REASON"]);
    for step in &view.steps {
        let mark = if step.tolerated { "*" } else { "" };
        let tokens = step.usage.prompt_tokens + step.usage.completion_tokens;
        let or_none = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let error = step.error.as_ref().map(|e| format!("{} [{}]", e.message, e.code));
        let why: Vec<String> = error.into_iter().chain(step.reason.clone()).collect();
        table.row([
            step.instance.clone(),
            format!("{}{mark}", step_status(view, step)),
            or_none(u64::from(step.attempts)),
            took(step.duration_ms).unwrap_or_default(),
            or_none(tokens),
            step.verdict.map(|verdict| verdict.name().to_owned()).unwrap_or_default(),
            why.join("; "),
        ]);
    }
    table.text()
}

fn took(ms: Option<u64>) -> Option<String> {
    ms.map(time)
}
