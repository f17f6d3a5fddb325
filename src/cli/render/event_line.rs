//! The text of an event, in live displays, on plain terminals and in `kb run logs`.

use super::assessment::{assessment_text, is_judged};
use super::event_clock::EventClock;
use super::next::{OpenQuestion, quoted};
use super::plan_revised::plan_revised;
use super::quantity::unproven as unproven_suffix;
use super::quantity::{bytes, cost, run_time, time, tokens};
use super::status::Status;
use super::table::plain;
use crate::cli::terminal::{DIM, ERROR, TITLE, WARNING, paint};
use kb_base::diagnostic::Severity;
use kb_base::value::OutcomeKind;
use kb_base::value::{Json, Timestamp, counted, json_text, one_line};
use kb_core::wire::{
    Body, CacheHitView, CheckView, Confidence, ErrorView, Event, FileChange, InvocationStatus,
    MergedView, PhaseView, QuestionKind, QuestionView, RecoveryView, StepStatus, UsageView,
    Verdict, change_kind_name,
};
use std::time::Duration;

/// The text of an event: time since the start of the run, step instance, description. `None` for
/// events that other lines cover. `seen` has seen the events up to this one.
pub(in crate::cli) fn line(event: &Event, seen: &EventClock) -> Option<String> {
    let text = describe(event, seen)?;
    let since = seen.since_start(event.at).as_millis() as u64;
    let clock = paint(DIM, &format!("{:>8}", time(since)));
    Some(match &event.place {
        Some(place) => format!("{clock}  {}  {text}", paint(TITLE, &plain(&place.instance))),
        None => format!("{clock}  {text}"),
    })
}

fn describe(event: &Event, seen: &EventClock) -> Option<String> {
    Some(match &event.body {
        Body::StepReady {} | Body::StepToken { .. } | Body::StepOutput(_) => return None,
        Body::AgentPhase(phase) => phase_line(phase),
        Body::AttemptEnd { outcome, .. } if *outcome == OutcomeKind::Ok => return None,
        Body::RunStart { .. } | Body::RunResume { .. } | Body::RunWaiting { .. } => {
            describe_run(event)
        }
        Body::StepStart { kind, specialist, tier } => {
            let attempt = event.place.as_ref().and_then(|place| place.attempt);
            step_start(kind, specialist.as_deref(), *tier, attempt)
        }
        Body::StepExpanded { count, .. } => format!("expanded into {count} items"),
        Body::StepReset { closure, reason, .. } => {
            format!("reset with {}: {}", counted(closure.len(), "instance"), plain(reason))
        }
        Body::StepWaiting { reason, until, .. } => {
            let span = until.as_ref().map(|until| format!(" {}", wait_span(event.at, until)));
            format!("{}{}: {}", waiting(), span.unwrap_or_default(), plain(reason))
        }
        Body::ModelCall { model, usage, calls, .. } => model_call(model, usage, *calls),
        Body::ToolCall { tool, args, .. } => {
            format!("tool {} {}", plain(tool), brief_args(args.as_deref()))
        }
        Body::ToolResult { tool, status, duration_ms, error: Some(error), .. } => {
            let tool = plain(tool);
            format!(
                "tool {tool} {} in {}{}",
                status.styled(),
                time(*duration_ms),
                error_with_help(error)
            )
        }
        Body::ToolResult { tool, status, bytes, duration_ms, changes, .. } => {
            tool_result(tool, *status, *bytes, *duration_ms, changes)
        }
        Body::StepNote { level: Severity::Warning, text } | Body::BudgetWarning { text } => {
            format!("{}: {}", paint(WARNING, "warning"), plain(text))
        }
        Body::StepNote { text, .. } => format!("note: {}", plain(text)),
        Body::AttemptEnd { outcome, error, .. } => {
            let outcome = paint(ERROR, &outcome.to_string());
            format!("attempt ended: {outcome}{}", error_suffix(error.as_ref()))
        }
        Body::VerificationComplete { verdict, confidence, reason, checks, .. } => {
            verdict_line(*verdict, *confidence, reason.as_deref(), checks)
        }
        Body::StepMerged { trees } => merged_line(trees),
        Body::PlanRevised(revision) => plan_revised(revision),
        Body::LoopPass(own) => loop_pass(event.at, own.pass, own.done, own.until.as_deref()),
        Body::RecoveryApplied(applied) => recovery(applied),
        // The call of the tool is shown.
        Body::ChannelSubscribe(_)
        | Body::ChannelAck(_)
        | Body::ChannelUnsubscribe(_)
        | Body::BlackboardRead(_) => return None,
        Body::Delegate(to) => said("delegated to", &to.agent, &to.task),
        Body::ChannelPublish(sent) => said(&sent.id, &sent.channel, &sent.data),
        Body::BlackboardWrite(set) => {
            said("blackboard", set.key.as_deref()?, set.value.as_deref()?)
        }
        Body::CacheHit(hit) => cache_hit(hit, event.at),
        Body::ChildStart { child, definition } => {
            format!("child run {child} of {}", plain(definition))
        }
        Body::ChildEnd { child, status, .. } => format!("child run {child} {status}"),
        Body::AskOpened(asked) => question(asked, event),
        Body::AskAnswered { approved, by, answer, comment } => {
            reply(*approved, by, answer.is_some(), comment.as_deref())
        }
        Body::StepEnd { status, kept_from: Some(kept), .. } => {
            format!("{}, kept from run {}", status.styled(), kept.run)
        }
        Body::StepEnd { status, reason: Some(why), error: None, .. } => {
            format!("{}: {}", status.styled(), plain(why))
        }
        Body::StepEnd { status, tolerated, error, duration_ms, stdout_cut, .. } => {
            let cut = stdout_cut.map(stdout_truncated);
            let cut = cut.map(|cut| indented(&format!("{}: {cut}", paint(WARNING, "warning"))));
            step_end(*status, *tolerated, error.as_ref(), *duration_ms) + &cut.unwrap_or_default()
        }
        Body::RunEnd { status, error, unproven, .. } => {
            let why = error_suffix(error.as_ref());
            let unproven = unproven_suffix(*unproven as usize);
            let (own, total) = seen.work(event.at);
            let ms = |work: Duration| work.as_millis() as u64;
            let took = run_time(ms(total), ms(own));
            format!("run {}{unproven} in {took}{why}", status.styled())
        }
    })
}

fn model_call(model: &str, usage: &UsageView, calls: usize) -> String {
    let requests = match calls {
        0 => String::new(),
        calls => format!(", requests {}", counted(calls, "tool call")),
    };
    format!("model {}: {}, {}{requests}", plain(model), tokens(usage), cost(usage))
}

fn loop_pass(at: Timestamp, pass: u32, done: bool, until: Option<&str>) -> String {
    if done {
        return format!("pass {pass}: done");
    }
    let next = until.map(|time| match Timestamp::parse(time) {
        Some(due) => format!(", the next one in {}", time_between(at, due)),
        None => format!(", the next one at {time}"),
    });
    format!("pass {pass}: not done{}", next.unwrap_or_default())
}

fn said(what: &str, name: &str, text: &str) -> String {
    format!("{what} `{}`: {}", plain(name), plain(&one_line(text, 100)))
}

fn recovery(applied: &RecoveryView) -> String {
    let RecoveryView { row, taken, max, reason, tier, specialist, .. } = applied;
    let max = match row.as_str() {
        "askUser" => String::new(),
        _ => format!(" of {max}"),
    };
    let to = specialist.as_deref().or(*tier).map(|to| format!(" ({})", plain(to)));
    let to = to.unwrap_or_default();
    format!("{} {taken}{max}{to}: {}", paint(WARNING, row.as_str()), plain(reason))
}

fn question(asked: &QuestionView, event: &Event) -> String {
    let question = plain(&asked.question);
    let text = match (asked.kind, asked.options.is_empty()) {
        (QuestionKind::Ask, true) => format!("question: {question}"),
        (QuestionKind::Ask, false) => {
            format!("question: {question} ({})", plain(&asked.options.join(", ")))
        }
        (QuestionKind::Approve, _) => format!("needs approval: {question}"),
    };
    // Others are asked on the terminal, or the summary has the command.
    let (Some(until), Some(place)) = (&asked.until, &event.place) else { return text };
    let step = &place.instance.to_string();
    let command = match asked.kind {
        QuestionKind::Ask => OpenQuestion::new(step, &asked.options, asked.schema.as_ref())
            .command("kb", event.run.as_str()),
        QuestionKind::Approve => format!("kb run approve {} {}", event.run, quoted(step)),
    };
    let span = wait_span(event.at, until).replacen("for ", "within ", 1);
    format!("{text}{}", indented(&format!("reply {span} with: {}", paint(TITLE, &command))))
}

fn reply(approved: bool, by: &str, is_answer: bool, comment: Option<&str>) -> String {
    let what = match (approved, is_answer) {
        (true, true) => "answered",
        (true, false) => "approved",
        (false, _) => "rejected",
    };
    let comment = comment.map(|text| format!(": {}", plain(text)));
    format!("{what} by {}{}", plain(by), comment.unwrap_or_default())
}

fn cache_hit(hit: &CacheHitView, at: Timestamp) -> String {
    let age = Timestamp::parse(&hit.stored_at).map(|stored| time_between(stored, at));
    let age = age.map(|age| format!(", {age} old")).unwrap_or_default();
    let files = match hit.restored.len() {
        0 => String::new(),
        count => format!(", restored {}", counted(count, "file")),
    };
    let (run, step) = (plain(&hit.run_from), plain(&hit.instance_from));
    if hit.kept {
        return format!("has the result of {step} of run {run}");
    }
    format!("from the cache: {step} of run {run}{age}, saved {}{files}", time(hit.saved_ms))
}

fn describe_run(event: &Event) -> String {
    match &event.body {
        Body::RunStart { definition, .. } => {
            format!("run {} of {}", event.run, paint(TITLE, definition))
        }
        Body::RunResume { in_flight, .. } if in_flight.is_empty() => {
            format!("run {} resumed", event.run)
        }
        Body::RunResume { in_flight, .. } => {
            format!("run {} resumed, running steps: {}", event.run, plain(&in_flight.join(", ")))
        }
        Body::RunWaiting { status, reason } => {
            format!("run {}: {}", status.styled(), plain(reason))
        }
        _ => String::new(),
    }
}

/// The length of a wait, such as `for 1.5s`; from one hour on its end, such as `until 14:32:05 UTC`.
fn wait_span(from: Timestamp, until: &str) -> String {
    const HOUR_MS: u128 = 3_600_000;
    let Some(due) = Timestamp::parse(until) else { return format!("until {until}") };
    let ms = due.since(from).as_millis();
    match (until.get(..10), until.get(11..19)) {
        (Some(day), Some(clock)) if ms >= 24 * HOUR_MS => format!("until {day} {clock} UTC"),
        (_, Some(clock)) if ms >= HOUR_MS => format!("until {clock} UTC"),
        _ => format!("for {}", time_between(from, due)),
    }
}

fn time_between(from: Timestamp, to: Timestamp) -> String {
    time(to.since(from).as_millis() as u64)
}

fn waiting() -> String {
    StepStatus::Waiting.styled()
}

fn step_start(
    kind: &str,
    specialist: Option<&str>,
    tier: Option<&str>,
    attempt: Option<u32>,
) -> String {
    let who = specialist.map(|name| format!(" {}", plain(name))).unwrap_or_default();
    let tier = tier.map(|tier| format!(" ({tier})")).unwrap_or_default();
    let again = attempt.filter(|n| *n > 1).map(|n| format!(", attempt {n}")).unwrap_or_default();
    format!("started: {kind}{who}{tier}{again}")
}

fn tool_result(
    tool: &str,
    status: InvocationStatus,
    size: u64,
    ms: u64,
    changes: &[FileChange],
) -> String {
    let mut text = format!("tool {} {} in {}", plain(tool), status.styled(), time(ms));
    // The size is that of the result. Beside the name of a file it would be read as that of the file.
    if changes.is_empty() {
        text.push_str(&format!(", {}", bytes(size)));
    }
    for change in changes.iter().take(3) {
        text.push_str(&format!(", {} {}", change_kind_name(change.change), plain(&change.path)));
    }
    if changes.len() > 3 {
        text.push_str(&format!(" and {} more", changes.len() - 3));
    }
    text
}

fn verdict_line(
    verdict: Verdict,
    strength: Confidence,
    reason: Option<&str>,
    checks: &[CheckView],
) -> String {
    let why = match reason {
        Some(reason) if verdict == Verdict::Passed => {
            format!(", {}: {}", paint(WARNING, "warning"), plain(reason))
        }
        Some(reason) => format!(": {}", plain(reason)),
        None if checks.is_empty() => ": no claims".to_owned(),
        None => {
            let count = counted(checks.len(), "check");
            format!(", {count}, confidence {}", strength.as_str())
        }
    };
    let open: Vec<&CheckView> = checks.iter().filter(|c| c.verdict != Verdict::Passed).collect();
    let texts = open.iter().filter(|_| open.len() > 1).map(|check| indented(&check_text(check)));
    let failed = |check: &CheckView| verdict == Verdict::Failed && check.verdict != Verdict::Passed;
    let facts = checks.iter().filter(|check| failed(check) || is_judged(check));
    let facts = facts.filter_map(evidence_text);
    let lines: String = texts.chain(facts.map(|text| indented(&text))).collect();
    format!("gate {}{why}{lines}", verdict.styled())
}

/// The recorded observations of a check, shortened; `None` if there are none.
pub(in crate::cli) fn evidence_text(check: &CheckView) -> Option<String> {
    const SHOWN: usize = 300;
    let seen = check.evidence.as_ref()?;
    if is_judged(check) {
        return Some(format!("{} {}", paint(DIM, "judge"), assessment_text(seen)));
    }
    let text = plain(&json_text(seen));
    let text = match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    };
    (!text.is_empty() && text != "{}")
        .then(|| format!("{} {}: {text}", paint(DIM, "evidence"), plain(&check.check)))
}

/// The text of one check of a gate.
pub(in crate::cli) fn check_text(check: &CheckView) -> String {
    let why = check.reason.as_ref().map(|why| format!(": {}", plain(why))).unwrap_or_default();
    format!("{} {}{why}", check.verdict.styled(), plain(&check.check))
}

/// The warning about a stdout over the size limit.
pub(super) fn stdout_truncated(bytes_cut: u64) -> String {
    format!(
        "{} of stdout were cut from the output of the step; write large output to a file",
        bytes(bytes_cut)
    )
}

/// An indented line below another one.
fn indented(text: &str) -> String {
    format!("\n{:>8}    {text}", "")
}

fn step_end(status: StepStatus, tolerated: bool, error: Option<&ErrorView>, ms: u64) -> String {
    let tolerated = if tolerated { ", tolerated" } else { "" };
    let took = if ms > 0 { format!(" in {}", time(ms)) } else { String::new() };
    format!("{}{took}{tolerated}{}", status.styled(), error_suffix(error))
}

fn error_suffix(error: Option<&ErrorView>) -> String {
    error.map(|e| format!(": {} [{}]", plain(&e.message), e.code)).unwrap_or_default()
}

fn error_with_help(error: &ErrorView) -> String {
    let help = error.help.as_ref().map(|help| format!("; {}", plain(help))).unwrap_or_default();
    format!(": {} [{}]{help}", plain(&error.message), error.code)
}

fn phase_line(view: &PhaseView) -> String {
    let number = match view.round {
        0 | 1 => String::new(),
        number => format!(", round {number}"),
    };
    let text = view.previous.as_deref().map(|text| plain(text.lines().next().unwrap_or_default()));
    let text = text.map(|text| match text.char_indices().nth(120) {
        Some((at, _)) => format!(": {}…", &text[..at]),
        None => format!(": {text}"),
    });
    let PhaseView { phase, progress_percent, .. } = view;
    format!("phase {phase}{number} ({progress_percent} %){}", text.unwrap_or_default())
}

/// The main argument of a tool call: its path, command, URL or pattern.
pub(in crate::cli) fn brief_args(args: Option<&Json>) -> String {
    const KEYS: [&str; 6] = ["path", "command", "argv", "url", "pattern", "ref"];
    let found = args.and_then(|args| KEYS.iter().find_map(|key| args.get(key)));
    let text = plain(&found.map(json_text).unwrap_or_default());
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// What was merged: the files and commits of each worktree or copy, and what was not.
fn merged_line(trees: &[MergedView]) -> String {
    let line = |tree: &MergedView| {
        let name = plain(&tree.instance);
        if !tree.conflicts.is_empty() {
            let paths: Vec<_> = tree.conflicts.iter().map(|path| plain(path)).collect();
            let written = if tree.files.is_empty() { "" } else { ", partly merged before" };
            return format!("{name} {} in {}{written}", paint(ERROR, "conflict"), paths.join(", "));
        }
        let folders = match tree.files.iter().filter(|path| path.ends_with('/')).count() {
            0 => String::new(),
            count => format!(", {}", counted(count, "folder")),
        };
        let files = tree.files.iter().filter(|path| !path.ends_with('/')).count();
        let commits = match tree.commits.len() {
            0 => String::new(),
            count => format!(", {}", counted(count, "commit")),
        };
        format!("{name} {}{folders}{commits}", counted(files, "file"))
    };
    format!("merged {}", trees.iter().map(line).collect::<Vec<_>>().join("; "))
}
