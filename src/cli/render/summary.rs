//! The summary after a run: status, failures, verdicts, changed files, outputs and the next command.

use super::failure::{Failed, hint};
use super::item_groups::{names, step_of};
use super::next::{next_command, quoted};
use super::quantity::{run_time, spent, unproven};
use super::run_summary::RunSummary;
use super::status::Status;
use super::table::plain;
use crate::cli::terminal::{DIM, ERROR, TITLE, WARNING, paint};
use kb_base::value::{Json, counted, json_text};
use kb_core::wire::{ChangeKind, RunStatus, StepStatus, Verdict, change_kind_name};
use std::collections::BTreeSet;

/// The summary of a run with this status. `with_output` adds the last output of failed steps.
pub(in crate::cli) fn text(
    program: &str,
    run: &str,
    status: RunStatus,
    summary: &RunSummary,
    with_output: bool,
) -> String {
    let mut out = vec![headline(status, summary)];
    out.extend(failures(program, run, summary, with_output));
    out.extend(summary.error.as_ref().map(|error| {
        let help = error.help.as_ref().map(|help| hint(help)).unwrap_or_default();
        format!("{}: {} [{}]{help}", paint(ERROR, "error"), plain(&error.message), error.code)
    }));
    out.extend(summary.waiting.iter().map(|(instance, reason)| {
        format!("{} {}: {}", StepStatus::Waiting.styled(), plain(instance), plain(reason))
    }));
    out.extend(summary.warnings.iter().map(|(instance, text)| {
        format!("{} {}: {}", paint(WARNING, "warning"), plain(instance), plain(text))
    }));
    out.extend(verdicts(summary));
    out.extend((summary.count_unproven() > 0).then(|| row("unproven", UNPROVEN)));
    let assessments = summary.assessments.iter();
    out.extend(assessments.map(|(step, found)| row("judge", &format!("{}: {found}", plain(step)))));
    out.extend(files(summary));
    out.extend(spent(&summary.usage).map(|spent| {
        let calls = counted(summary.usage.model_calls as usize, "model call");
        let tools = counted(summary.usage.tool_calls as usize, "tool call");
        row("usage", &format!("{spent}, {calls}, {tools}"))
    }));
    out.extend(outputs(summary));
    if summary.large_outputs {
        out.push(row(
            "outputs",
            &format!("too large to show; print them with `{program} run output {run}`"),
        ));
    }
    out.push(row("run", run));
    if let Some(failed) = summary.failures.iter().find(|failed| !failed.tolerated) {
        let step = quoted(&failed.instance);
        out.push(row("logs", &paint(TITLE, &format!("{program} run logs {run} {step}"))));
    }
    let asked = summary.waiting.keys().any(|name| !summary.waiting_children.contains(name));
    let waits = status == RunStatus::Waiting;
    let next = if waits && !asked && !summary.waiting_children.is_empty() {
        // The child runs have the questions.
        Some(format!("{program} run show {run}"))
    } else {
        let question = summary.questions.values().next();
        let (budget, changed) = (summary.waits_for_budget(), summary.has_changed);
        next_command(program, run, status, question, budget, changed)
    };
    out.extend(next.map(|command| row("next", &paint(TITLE, &command))));
    out.join("\n") + "\n"
}

/// The failed steps: first those that failed the run. Of many items of one step, the first in full and the others by
/// name; all tolerated items of a step in one line.
fn failures(program: &str, run: &str, summary: &RunSummary, with_output: bool) -> Vec<String> {
    const IN_FULL: usize = 3;
    let mut lines = Vec::new();
    for tolerated in [false, true] {
        let all = || summary.failures.iter().filter(|failed| failed.tolerated == tolerated);
        let mut told = BTreeSet::new();
        for failed in all() {
            let Some(step) = step_of(&failed.instance) else {
                lines.push(failed.text(with_output));
                continue;
            };
            if !told.insert(step) {
                continue;
            }
            let items: Vec<&Failed> =
                all().filter(|one| step_of(&one.instance) == Some(step)).collect();
            let in_full = match (tolerated, items.len()) {
                (false, count) => count.min(IN_FULL),
                (true, 1) => 1,
                (true, _) => 0,
            };
            // The output of items is not shown while they run.
            lines.extend(items[..in_full].iter().map(|item| item.text(true)));
            let others: Vec<&str> =
                items[in_full..].iter().map(|item| item.instance.as_str()).collect();
            if !others.is_empty() {
                let word = if tolerated {
                    paint(WARNING, "tolerated")
                } else {
                    StepStatus::Failed.styled()
                };
                let more = if in_full > 0 { "more " } else { "" };
                let count = counted(others.len(), &format!("{more}item"));
                let names = names(&others);
                let command = paint(TITLE, &format!("{program} run show {run} --failed"));
                lines.push(format!("{word} {count} of {}: {names}; {command}", plain(step)));
            }
        }
    }
    lines
}

/// What a person can do about steps whose gate did not pass.
const UNPROVEN: &str = "the record does not show all that these steps report; `--strict` makes that exit code 1, more checks prove more";

fn headline(status: RunStatus, summary: &RunSummary) -> String {
    let took = summary.began.zip(summary.last).map(|(from, to)| to.since(from).as_millis() as u64);
    let earlier = summary.earlier.as_millis() as u64;
    let took = took.map(|ms| format!(" in {}", run_time(ms + earlier, ms))).unwrap_or_default();
    let ended = summary.counts.iter().filter(|(status, _)| status.has_ended());
    let counts: Vec<String> = ended.map(|(status, n)| format!("{n} {status}")).collect();
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    let unproven = unproven(summary.count_unproven());
    format!("{} {}{unproven}{took}{counts}", summary.definition, status.styled())
}

fn row(title: &str, text: &str) -> String {
    format!("{} {text}", paint(DIM, &format!("{title:<9}")))
}

fn verdicts(summary: &RunSummary) -> Option<String> {
    let of = |(instance, verdicts): (&String, &Vec<Verdict>)| {
        let words: Vec<String> = verdicts.iter().map(|verdict| verdict.styled()).collect();
        let more = match summary.open_checks.get(instance) {
            Some(open) if *open > 1 => format!("; {open} checks did not pass"),
            _ => String::new(),
        };
        let reason = summary.reasons.get(instance).map(|r| format!(" ({}{more})", plain(r)));
        format!("{} {}{}", plain(instance), words.join(" → "), reason.unwrap_or_default())
    };
    let all: Vec<String> = summary.verdicts.iter().map(of).collect();
    (!all.is_empty()).then(|| row("verdicts", &all.join(", ")))
}

fn files(summary: &RunSummary) -> Option<String> {
    const SHOWN: usize = 12;
    if summary.files.is_empty() {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    for kind in [ChangeKind::Created, ChangeKind::Modified, ChangeKind::Deleted] {
        let of_kind = summary.files.iter().filter(|(_, change)| **change == kind);
        let paths: Vec<String> = of_kind.map(|(path, _)| plain(path)).collect();
        if paths.is_empty() {
            continue;
        }
        let more = match paths.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let kind = change_kind_name(kind);
        parts.push(format!("{kind} {}{more}", paths[..paths.len().min(SHOWN)].join(", ")));
    }
    Some(row("files", &parts.join("; ")))
}

fn outputs(summary: &RunSummary) -> Vec<String> {
    let Some(Json::Object(map)) = summary.outputs.as_deref() else { return Vec::new() };
    let line = |(name, value): (&String, &Json)| {
        let text = json_text(value);
        if text.contains('\n') {
            let lines = text.lines().map(|line| format!("\n    {}", plain(line)));
            row("output", &format!("{name}:{}", lines.collect::<String>()))
        } else {
            row("output", &format!("{name}: {}", plain(&text)))
        }
    };
    map.iter().map(line).collect()
}
