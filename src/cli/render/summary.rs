//! What is said when a run was left: how it stands, what it made, and the one command that goes on.

use super::quantity::{spent, time};
use super::status_style;
use super::table::plain;
use super::tally::{Failed, Tally, Unapproved};
use crate::cli::terminal::{DIM, HINT, TITLE, WARNING, paint};
use crate::value::{Json, counted, json_text};

/// The summary of a run that stands at this status.
pub(in crate::cli) fn text(program: &str, run: &str, status: &str, tally: &Tally) -> String {
    let mut out = vec![headline(status, tally)];
    out.extend(tally.failures.iter().map(failed));
    out.extend(tally.error.as_ref().map(|error| {
        let help = error.help.as_ref().map(|help| hint(help)).unwrap_or_default();
        format!(
            "{}: {} [{}]{help}",
            paint(super::status_style("failed"), "error"),
            plain(&error.message),
            error.code
        )
    }));
    out.extend(tally.waiting.iter().map(|(instance, reason)| {
        format!("{} {}: {}", paint(WARNING, "waits"), plain(instance), plain(reason))
    }));
    out.extend(tally.warnings.iter().map(|(instance, text)| {
        format!("{} {}: {}", paint(WARNING, "warning"), plain(instance), plain(text))
    }));
    out.extend(unapproved(program, run, status, tally));
    out.extend(verdicts(tally));
    out.extend(files(tally));
    out.extend(spent(&tally.usage).map(|spent| {
        let calls = counted(tally.usage.model_calls as usize, "model call");
        let tools = counted(tally.usage.tool_calls as usize, "tool call");
        row("spent", &format!("{spent}, {calls}, {tools}"))
    }));
    out.extend(outputs(tally));
    if tally.large_outputs {
        out.push(row("outputs", &format!("large; `{program} run output {run}` prints them")));
    }
    out.push(row("run", run));
    out.extend(goes_on(program, run, status).map(|command| row("go on", &paint(TITLE, &command))));
    out.join("\n") + "\n"
}

/// The one command that goes on with a run, where there is something to go on with.
pub(in crate::cli) fn goes_on(program: &str, run: &str, status: &str) -> Option<String> {
    match status {
        "failed" | "cancelled" => Some(format!("{program} run retry {run}")),
        "interrupted" => Some(format!("{program} run resume {run}")),
        "waiting" => Some(format!("{program} run approve {run}")),
        _ => None,
    }
}

/// What a person has to approve, and the command that does.
fn unapproved(program: &str, run: &str, status: &str, tally: &Tally) -> Option<String> {
    let first = tally.unapproved.first()?;
    let of =
        |denied: &Unapproved| format!("{} for {}", plain(&denied.tool), plain(&denied.instance));
    let all: Vec<String> = tally.unapproved.iter().map(of).collect();
    let command = match status {
        "succeeded" => format!("{program} run retry {run} --from {} --yes", first.step),
        "interrupted" | "waiting" => format!("{program} run resume {run} --yes"),
        _ => format!("{program} run retry {run} --yes"),
    };
    let help = hint(&format!("`{command}` approves it for this run"));
    let word = paint(WARNING, "denied");
    Some(format!("{word} {}: nobody approved it{help}", all.join(", ")))
}

fn headline(status: &str, tally: &Tally) -> String {
    let took = tally.began.zip(tally.last).map(|(from, to)| to.since(from).as_millis() as u64);
    let took = took.map(|ms| format!(" in {}", time(ms))).unwrap_or_default();
    let order = ["succeeded", "failed", "skipped", "blocked", "cancelled"];
    let count = |word: &&str| tally.counts.get(*word).map(|n| format!("{n} {word}"));
    let counts: Vec<String> = order.iter().filter_map(count).collect();
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    format!("{} {}{took}{counts}", tally.definition, paint(status_style(status), status))
}

fn failed(failed: &Failed) -> String {
    let name = plain(&failed.instance);
    let word = match failed.tolerated {
        true => paint(WARNING, "tolerated"),
        false => paint(status_style("failed"), "failed"),
    };
    match &failed.error {
        None => format!("{word} {name}"),
        Some(error) => {
            let help = error.help.as_ref().map(|help| hint(help)).unwrap_or_default();
            format!("{word} {name}: {} [{}]{help}", plain(&error.message), error.code)
        }
    }
}

fn hint(help: &str) -> String {
    format!("\n  {} {}", paint(HINT, "help:"), plain(help))
}

fn row(title: &str, text: &str) -> String {
    format!("{} {text}", paint(DIM, &format!("{title:<9}")))
}

fn verdicts(tally: &Tally) -> Option<String> {
    let of = |(instance, verdicts): (&String, &Vec<String>)| {
        let words: Vec<String> = verdicts.iter().map(|v| paint(status_style(v), v)).collect();
        let more = match tally.open_checks.get(instance) {
            Some(open) if *open > 1 => format!("; {open} checks did not pass"),
            _ => String::new(),
        };
        let reason = tally.reasons.get(instance).map(|r| format!(" ({}{more})", plain(r)));
        format!("{} {}{}", plain(instance), words.join(" → "), reason.unwrap_or_default())
    };
    let all: Vec<String> = tally.verdicts.iter().map(of).collect();
    (!all.is_empty()).then(|| row("verdicts", &all.join(", ")))
}

fn files(tally: &Tally) -> Option<String> {
    const SHOWN: usize = 12;
    if tally.files.is_empty() {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    for kind in ["created", "modified", "deleted"] {
        let of_kind = tally.files.iter().filter(|(_, change)| **change == kind);
        let paths: Vec<String> = of_kind.map(|(path, _)| plain(path)).collect();
        if paths.is_empty() {
            continue;
        }
        let more = match paths.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        parts.push(format!("{kind} {}{more}", paths[..paths.len().min(SHOWN)].join(", ")));
    }
    Some(row("files", &parts.join("; ")))
}

fn outputs(tally: &Tally) -> Vec<String> {
    let Some(Json::Object(map)) = tally.outputs.as_deref() else { return Vec::new() };
    let line = |(name, value): (&String, &Json)| {
        let text = json_text(value);
        match text.contains('\n') {
            true => {
                let lines = text.lines().map(|line| format!("\n    {}", plain(line)));
                row("output", &format!("{name}:{}", lines.collect::<String>()))
            }
            false => row("output", &format!("{name}: {}", plain(&text))),
        }
    };
    map.iter().map(line).collect()
}
