//! `kb run show`

use crate::cli::render::table::{Table, plain};
use crate::cli::render::{Status, check_text, spent, summary};
use crate::cli::terminal::{DIM, HINT, TITLE, Terminal, WARNING, paint};
use crate::cli::{CliResult, Exit};
use crate::service::runs::ProjectContext;
use crate::service::{self, Environment};
use crate::value::format_duration;
use crate::wire::{InstanceView, QuestionKind, RunView, Verdict};
use std::time::Duration;

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
    let whole = [took(view.duration_ms), spent(&view.usage)];
    let whole: Vec<String> = whole.into_iter().flatten().collect();
    if !whole.is_empty() {
        out.push_str(&format!("{}\n", whole.join(", ")));
    }
    out.push_str(&format!("\n{}", steps(&view.steps)));
    if view.steps.iter().any(|step| step.tolerated) {
        out.push_str("* failure tolerated\n");
    }
    for step in &view.steps {
        let open: Vec<_> = step.checks.iter().filter(|c| c.verdict != Verdict::Passed).collect();
        if !open.is_empty() {
            out.push_str(&format!("\ngate of {}\n", paint(TITLE, &plain(&step.instance))));
        }
        open.iter().for_each(|check| out.push_str(&format!("  {}\n", check_text(check))));
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

fn steps(steps: &[InstanceView]) -> String {
    let mut table = Table::new(["STEP", "STATUS", "ATTEMPTS", "TIME", "TOKENS", "GATE", "REASON"]);
    for step in steps {
        let mark = if step.tolerated { "*" } else { "" };
        let tokens = step.usage.prompt_tokens + step.usage.completion_tokens;
        let or_none = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let why = step.error.as_ref().map(|e| format!("{} [{}]", e.message, e.code));
        table.row([
            step.instance.clone(),
            format!("{}{mark}", step.status.name()),
            or_none(u64::from(step.attempts)),
            took(step.duration_ms).unwrap_or_default(),
            or_none(tokens),
            step.verdict.map(|verdict| verdict.name().to_owned()).unwrap_or_default(),
            why.unwrap_or_default(),
        ]);
    }
    table.text()
}

fn took(ms: Option<u64>) -> Option<String> {
    ms.map(|ms| format_duration(Duration::from_millis(ms)))
}
