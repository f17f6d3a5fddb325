//! `kb run show`

use super::folded::Folded;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::prompting;
use crate::cli::render::next::{OpenQuestion, next_command};
use crate::cli::render::plan_revised::plan_revised;
use crate::cli::render::table::{Table, plain};
use crate::cli::render::{
    Status, check_text, evidence_text, is_judged, run_time, spent, time, unproven,
};
use crate::cli::terminal::{DIM, HINT, TITLE, Terminal, WARNING, paint};
use kb_base::value::{Json, Timestamp, json_text, one_line};
use kb_core::wire::{
    InstanceView, Question, QuestionKind, RecoveryHint, RunStatus, RunView, StepStatus, Verdict,
};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, Masked};
use std::collections::BTreeMap;

/// The indentation of the steps of a child run.
const INDENT: &str = "   ";

/// Show the status of a run and its steps
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Show only failed steps and items
    #[arg(long)]
    failed: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let mut view = service::show_run(&context, &args.run)?;
    if args.failed {
        view = RunView::only_failed(view);
    }
    if args.json {
        terminal.json(&view)?
    } else {
        terminal.out(&text(
            &view,
            &service::show_children(&context, &view)?,
            (environment.clock.now(), args.failed, service::has_changed(&context, &view.run)),
        ))?
    }
    Ok(Exit::Done)
}

/// The child runs of a run by id.
type Children = BTreeMap<String, Masked<RunView>>;

fn text(
    view: &RunView,
    children: &Children,
    (now, all, has_changed): (Timestamp, bool, bool),
) -> String {
    let status = view.status.styled();
    let started = paint(DIM, &view.started_at);
    let run = paint(TITLE, &view.run);
    let suffix = unproven(view.unproven.unwrap_or(0));
    let mut out = format!("{run} {status}{suffix}: {}, {started}\n", view.definition);
    if let Some(parent) = &view.parent {
        out.push_str(&format!("child run of {} in run {}\n", plain(&parent.instance), parent.run));
    }
    if let Some(base) = &view.base {
        out.push_str(&format!("continues run {}\n", base.run));
        out.extend(base.revision.as_ref().map(|own| format!("{}\n", plan_revised(own))));
    }
    let params: Vec<String> = view.params.iter().map(param).collect();
    if !params.is_empty() {
        out.push_str(&format!("{} {}\n", paint(DIM, "params"), params.join(", ")));
    }
    let whole = [work(view), spent(&view.usage)];
    let whole: Vec<String> = whole.into_iter().flatten().collect();
    if !whole.is_empty() {
        out.push_str(&format!("{}\n", whole.join(", ")));
    }
    out.push_str(&format!("\n{}", steps(view, children, (now, all))));
    if view.steps.iter().any(|step| step.tolerated) {
        out.push_str("* failure tolerated\n");
    }
    for step in &view.steps {
        let shown = step.checks.iter();
        let open: Vec<_> =
            shown.filter(|check| check.verdict != Verdict::Passed || is_judged(check)).collect();
        if !open.is_empty() {
            out.push_str(&format!("\ngate of {}\n", paint(TITLE, &plain(&step.instance))));
        }
        for check in open {
            out.push_str(&format!("  {}\n", check_text(check)));
            out.extend(evidence_text(check).map(|text| format!("    {text}\n")));
        }
    }
    view.steps.iter().for_each(|step| out.push_str(&suggestions(step, all)));
    if let Some(error) = &view.error {
        out.push_str(&format!("\n{} [{}]\n", plain(&error.message), error.code));
        if let Some(help) = &error.help {
            out.push_str(&format!("  {} {}\n", paint(HINT, "help:"), plain(help)));
        }
    }
    if !view.trees.is_empty() {
        out.push_str("\nchanges that are not merged\n");
    }
    for tree in &view.trees {
        out.push_str(&format!("  {}  {}\n", plain(&tree.instance), plain(&tree.path)));
    }
    out.push_str(&questions(view));
    let waiting = waiting_children(view, children);
    for child in &waiting {
        out.push_str(&questions(child));
        out.push_str(&next(child, children, (false, false)));
    }
    out.push_str(&next(view, children, (!waiting.is_empty(), has_changed)));
    out
}

/// Maximum number of characters of a parameter value.
const PARAM: usize = 80;

/// A parameter as `name=value`, on one line.
fn param((name, value): (&String, &Json)) -> String {
    plain(&format!("{name}={}", one_line(&json_text(value), PARAM)))
}

/// What can follow the failure of a step; with `all`, that of an item too.
fn suggestions(step: &InstanceView, all: bool) -> String {
    let shown = step.status == StepStatus::Failed && (all || step.instance == step.step);
    let failed = step.error.as_ref().filter(|_| shown);
    let hints = failed.map(|error| error.suggested_next.as_slice()).unwrap_or_default();
    let help = failed.and_then(|error| error.help.as_ref());
    if hints.is_empty() && help.is_none() {
        return String::new();
    }
    let line = |hint: &RecoveryHint| {
        let action = format!("{:<18}", hint.action.as_str().replace('_', " "));
        format!("  {}{}\n", paint(DIM, &action), plain(&hint.note))
    };
    let help = help.map(|help| format!("  {} {}\n", paint(HINT, "help:"), plain(help)));
    let lines: String = help.into_iter().chain(hints.iter().map(line)).collect();
    let place = step.place.as_ref().map(|place| format!(" at {}", plain(place)));
    let title = paint(TITLE, &plain(&step.instance));
    format!("\nsuggested for {title}{}\n{lines}", place.unwrap_or_default())
}

/// The time of the run, and of the last process that drove it.
fn work(view: &RunView) -> Option<String> {
    let (total, last) = (view.work_ms?, view.attempt_ms.unwrap_or_default());
    let now = match view.status {
        RunStatus::Running => " so far",
        RunStatus::Interrupted => " until it was interrupted",
        RunStatus::Waiting | RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled => "",
    };
    let last = if last == 0 { total } else { last };
    Some(format!("{}{now}", run_time(total, last)))
}

/// The status of a step. A step that was running when its process was killed is interrupted.
fn step_status(view: &RunView, step: &InstanceView) -> &'static str {
    let is_active = matches!(step.status, StepStatus::Running | StepStatus::Verifying);
    if view.status == RunStatus::Interrupted && is_active {
        RunStatus::Interrupted.name()
    } else {
        step.status.name()
    }
}

/// The open questions of a run.
fn questions(view: &RunView) -> String {
    let open = view.steps.iter().filter_map(|step| Some((step, step.question.as_ref()?)));
    let line = |(step, asked): (&InstanceView, &Question)| {
        let (name, question) = (plain(&step.instance), plain(&asked.text));
        let about = [prompting::accepted(asked), prompting::what_follows(step)];
        let about: String =
            about.into_iter().flatten().map(|text| format!("      {text}\n")).collect();
        let waits = paint(WARNING, "waits");
        format!("\n{waits} {name}: {question}\n{about}")
    };
    open.map(line).collect()
}

/// The command that continues a run.
fn next(view: &RunView, children: &Children, (after_child, has_changed): (bool, bool)) -> String {
    let asked = |step: &InstanceView| {
        let asked = step.question.as_ref().filter(|asked| asked.kind == QuestionKind::Ask)?;
        Some(OpenQuestion::new(&step.instance, &asked.options, asked.schema.as_deref()))
    };
    let asks = view.steps.iter().find_map(asked);
    let command = if after_child && asks.is_none() {
        Some(format!("kb run resume {}", view.run))
    } else {
        let budget = needs_budget(view, children);
        next_command("kb", &view.run, view.status, asks.as_ref(), budget, has_changed)
    };
    let line = |command: String| format!("\nnext: {}\n", paint(TITLE, &command));
    command.map(line).unwrap_or_default()
}

/// Whether everything that waits needs a higher budget, also in child runs.
fn needs_budget(view: &RunView, children: &Children) -> bool {
    let mut waiting = view.steps.iter().filter(|step| step.status == StepStatus::Waiting);
    let in_child = |step: &InstanceView| {
        let child = step.child_run.as_ref().and_then(|id| children.get(id));
        child.is_some_and(|child| needs_budget(child, children))
    };
    waiting.clone().next().is_some() && waiting.all(|step| step.needs_budget || in_child(step))
}

/// The child runs at any level that have an open question.
fn waiting_children<'a>(view: &RunView, children: &'a Children) -> Vec<&'a Masked<RunView>> {
    let mut waiting = Vec::new();
    let below = view.steps.iter().filter(|step| step.status == StepStatus::Waiting);
    for child in below.filter_map(|step| children.get(step.child_run.as_ref()?)) {
        let asks = child.steps.iter().any(|step| step.question.is_some());
        waiting.extend(asks.then_some(child));
        waiting.extend(waiting_children(child, children));
    }
    waiting
}

/// The steps as a table; the steps of a child run follow the step that executes it.
fn steps(view: &RunView, children: &Children, shown: (Timestamp, bool)) -> String {
    let mut table = Table::new(["STEP", "STATUS", "ATTEMPTS", "TIME", "TOKENS", "GATE", "REASON"]);
    add_steps(&mut table, view, children, 0, shown);
    table.text()
}

fn add_steps(
    table: &mut Table<7>,
    view: &RunView,
    children: &Children,
    level: usize,
    (now, all): (Timestamp, bool),
) {
    let folded = if all { Folded::default() } else { Folded::of(&view.steps) };
    for step in &view.steps {
        if folded.hides(step) {
            continue;
        }
        let mark = if step.tolerated { "*" } else { "" };
        let tokens = step.usage.prompt_tokens + step.usage.completion_tokens;
        let or_none = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let error = step.error.as_ref().map(|e| format!("{} [{}]", e.message, e.code));
        let passes = step.pass.filter(|_| step.attempts > 0).map(passes);
        let why = passes.into_iter().chain(error).chain(step.reason.clone());
        let why: Vec<String> = why.chain(folded.text(step)).collect();
        table.row([
            format!("{}{}", INDENT.repeat(level), step.instance),
            format!("{}{mark}", step_status(view, step)),
            or_none(u64::from(step.attempts)),
            took(step.duration_ms.or_else(|| so_far(view, step, now))).unwrap_or_default(),
            or_none(tokens),
            gate(step),
            why.join("; "),
        ]);

        let Some(child) = step.child_run.as_ref().and_then(|id| children.get(id)) else { continue };
        let mut row: [String; 7] = Default::default();
        row[0] = format!("{}└ {} ({})", INDENT.repeat(level), child.run, child.definition);
        row[1] = child.status.to_string();
        row[3] = took(child.duration_ms).unwrap_or_default();
        table.row(row);
        add_steps(table, child, children, level + 1, (now, all));
    }
}

fn passes(count: u32) -> String {
    if count == 1 { "1 pass".to_owned() } else { format!("{count} passes") }
}

/// The verdict of its gate, or the verdicts of its child run.
fn gate(step: &InstanceView) -> String {
    let own = step.verdict.map(|verdict| verdict.name().to_owned());
    let below = step.child_verdicts.map(|found| {
        let counts = [(found.passed, Verdict::Passed), (found.failed, Verdict::Failed)];
        let counts = counts.into_iter().chain([
            (found.inconclusive, Verdict::Inconclusive),
            (found.unchecked, Verdict::Unchecked),
        ]);
        let shown = counts.filter(|(count, _)| *count > 0);
        let shown: Vec<_> =
            shown.map(|(count, verdict)| format!("{count} {}", verdict.name())).collect();
        shown.join(", ")
    });
    own.or(below).unwrap_or_default()
}

/// Milliseconds since the start of a step that a process executes now.
fn so_far(view: &RunView, step: &InstanceView, now: Timestamp) -> Option<u64> {
    let is_active = matches!(step.status, StepStatus::Running | StepStatus::Verifying);
    let began = step.started_at.as_deref().filter(|_| is_active)?;
    let since = now.since(Timestamp::parse(began)?).as_millis() as u64;
    (view.status == RunStatus::Running).then_some(since.saturating_sub(step.lost_ms))
}

fn took(ms: Option<u64>) -> Option<String> {
    ms.map(time)
}
