//! The panel of one step: attempts with what their gates found, file differences, the log.

use super::changed_files::files;
use super::format::{anchor, cost, duration, part, short};
use crate::web::problem::Problem;
use crate::web::state::WebProject;
use kb_base::value::{Json, json_text, one_line};
use kb_core::evidence::InvocationStatus;
use kb_core::wire::{Body, CheckView, InstanceView, RunView, StepStatus, Verdict};
use kb_engine::inspect::{AttemptWork, StepReply, WorkEntry, run_output, step_work};
use kb_language::plan::Plan;
use kb_service::service::{ConfinedAhead, Reader};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Maximum number of attempts on the page; the newest ones are shown.
const ATTEMPTS: usize = 20;
/// Maximum length of a text in characters.
const TEXT: usize = 20_000;

/// What the panel shows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepPanel {
    instance: String,
    kind: &'static str,
    status: StepStatus,
    /// Whether it failed without failing the run.
    tolerated: bool,
    /// What it waits for: the text and the address of the form.
    question: Option<Value>,
    /// Whether it has done nothing yet but ask.
    only_asks: bool,
    duration: Option<String>,
    cost: Option<String>,
    child_run: Option<String>,
    /// Why its commands run in the sandbox.
    sandbox: Option<String>,
    error: Option<String>,
    help: Option<String>,
    code: Option<String>,
    output: Option<String>,
    replies: Vec<Value>,
    tries: Vec<Try>,
    files: Vec<Value>,
    /// The addresses of its log.
    log: String,
    raw: String,
    /// The attempt whose log it is, and the address of the page with that of all attempts.
    log_of: Option<String>,
    all_logs: Option<String>,
}

/// One attempt.
#[derive(Debug, Default, Serialize)]
struct Try {
    iteration: u32,
    number: u32,
    /// The address of the page with its log, if there are several attempts.
    href: Option<String>,
    outcome: Option<String>,
    verdict: Option<Verdict>,
    note: Option<String>,
    /// Program and arguments of the process of the step.
    command: Option<String>,
    /// Prompts, texts of models and tool calls, in order.
    work: Vec<Value>,
    /// Number of later entries that are not shown.
    omitted: usize,
    checks: Vec<Value>,
    /// The checks of the attempt before that this one does not have.
    gone: Vec<Value>,
}

impl Try {
    /// Whether nothing was done in it so far.
    fn is_empty(&self) -> bool {
        self.work.is_empty() && self.checks.is_empty() && self.command.is_none()
    }
}

/// Reads the panel of a step or item.
pub(super) fn panel(
    project: &WebProject,
    plan: &Plan,
    view: &RunView,
    (instance, tolerated): (&InstanceView, bool),
    (page, attempt): (&str, Option<(u32, u32)>),
) -> Result<StepPanel, Problem> {
    let ahead = plan.confined_ahead();
    let causes = plan.find(&instance.step).map(|ix| ahead[ix.at()].as_slice());
    let name = instance.instance.as_str();
    let journal = project.shared.journal.clone();
    let (work, replies) = step_work(Reader::open(journal, &view.run)?, name)?;
    let mut log = format!("/api/v1/runs/{}/steps/{}/log?", view.run, part(name));
    if let Some((iteration, number)) = attempt {
        log.push_str(&format!("iteration={iteration}&attempt={number}&"));
    }
    let mut tries = tries(project, &view.run, name, &work)?;
    if tries.len() > 1 {
        for one in &mut tries {
            let (iteration, number) = (one.iteration, one.number);
            one.href = Some(format!("{page}&attempt={iteration}.{number}#log-title"));
        }
    }
    Ok(StepPanel {
        instance: instance.instance.clone(),
        kind: instance.kind,
        status: instance.status,
        tolerated,
        only_asks: instance.question.is_some() && tries.iter().all(Try::is_empty),
        question: instance.question.as_ref().map(|asked| {
            let form = format!("/inbox#{}", anchor(&view.run, name));
            json!({"text": short(&asked.text, 4000), "href": form})
        }),
        duration: instance.duration_ms.map(duration),
        cost: Some(cost(&instance.usage)).filter(|_| instance.usage.model_calls > 0),
        child_run: instance.child_run.clone(),
        sandbox: causes.and_then(ConfinedAhead::line),
        error: instance.error.as_ref().map(|error| short(&error.message, 4000)),
        help: instance
            .error
            .as_ref()
            .and_then(|error| error.help.as_deref())
            .map(|help| short(help, 4000)),
        code: instance.error.as_ref().map(|error| error.code.to_string()),
        output: (instance.ended_at.as_ref()).and_then(|_| output(project, &view.run, Some(name))),
        replies: replies.iter().map(reply).collect(),
        tries,
        files: files(project, &view.run, name),
        raw: format!("{log}format=text"),
        log,
        log_of: attempt
            .map(|(iteration, number)| format!("attempt {number}, iteration {iteration}")),
        all_logs: attempt.map(|_| format!("{page}#log-title")),
    })
}

/// The output of a step, or without one the outputs of a run, as text.
pub(super) fn output(project: &WebProject, run: &str, step: Option<&str>) -> Option<String> {
    let reader = Reader::open(project.shared.journal.clone(), run).ok()?;
    let (value, _) = run_output(reader, step).ok()?;
    let is_empty = value.as_object().is_some_and(|object| object.is_empty());
    (!value.is_null() && !is_empty).then(|| readable(&value))
}

/// A human-readable value: a text as it is, and JSON in several lines.
fn readable(value: &Json) -> String {
    let text = match value.as_str() {
        Some(text) => text.to_owned(),
        None => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    short(&text, TEXT)
}

fn reply(reply: &StepReply) -> Value {
    json!({
        "at": reply.at.rfc3339(),
        "approved": reply.approved,
        "by": short(&reply.by, 200),
        "answer": reply.answer.as_deref().map(readable),
        "comment": reply.comment.as_deref().map(|text| short(text, 4000)),
    })
}

fn entry(entry: &WorkEntry) -> Value {
    match entry {
        WorkEntry::Prompt { role, text } => {
            json!({"kind": "prompt", "title": format!("{role} prompt"), "text": short(text, TEXT)})
        }
        WorkEntry::Model { model, text } => {
            json!({"kind": "model", "title": short(model, 200), "text": short(text, TEXT)})
        }
        WorkEntry::Call { tool, args, status, result, duration_ms, .. } => json!({
            "kind": "call",
            "title": short(tool, 200),
            "status": status.map_or("running", InvocationStatus::as_str),
            "duration": duration(*duration_ms),
            "args": readable(args),
            "result": readable(result),
        }),
    }
}

fn tries(
    project: &WebProject,
    run: &str,
    name: &str,
    work: &[AttemptWork],
) -> Result<Vec<Try>, Problem> {
    let mut reader = Reader::open(project.shared.journal.clone(), run)?;
    let mut all: BTreeMap<(u32, u32), Try> = BTreeMap::new();
    while let Some(events) = reader.next_events()? {
        for event in events {
            let Some(place) = event.place.filter(|place| &*place.instance == name) else {
                continue;
            };
            let Some(number) = place.attempt else { continue };
            let iteration = place.iteration;
            let one = all.entry((iteration, number)).or_default();
            (one.iteration, one.number) = (iteration, number);
            match event.body {
                Body::AttemptEnd { outcome, error, duration_ms, process, .. } => {
                    let argv = process.and_then(|process| process.argv);
                    one.command = argv.map(|argv| short(&argv.join(" "), TEXT));
                    let time = duration(duration_ms);
                    one.outcome = Some(format!("{outcome} in {time}"));
                    one.note = error.map(|error| one_line(&error.message, 400));
                }
                Body::VerificationComplete { verdict, checks, .. } => {
                    one.verdict = Some(verdict);
                    one.checks = checks.iter().map(check).collect();
                }
                _ => {}
            }
        }
    }
    for attempt in work {
        if let Some(one) = all.get_mut(&(attempt.iteration, attempt.attempt)) {
            one.work = attempt.entries.iter().map(entry).collect();
            one.omitted = attempt.omitted;
        }
    }
    let skipped = all.len().saturating_sub(ATTEMPTS);
    let mut tries: Vec<Try> = all.into_values().skip(skipped).collect();
    for index in (1..tries.len()).rev() {
        let (earlier, later) = tries.split_at_mut(index);
        compare(&earlier[index - 1], &mut later[0]);
    }
    // The newest first: it decided the step.
    tries.reverse();
    Ok(tries)
}

/// Notes at the checks of an attempt how they differ from those of the attempt before it.
fn compare(before: &Try, after: &mut Try) {
    if before.checks.is_empty() || after.checks.is_empty() {
        return;
    }
    let same = |one: &Value, other: &Value| ["claim", "name"].iter().all(|k| one[*k] == other[*k]);
    for check in &mut after.checks {
        let Some(earlier) = before.checks.iter().find(|earlier| same(earlier, check)) else {
            check["earlier"] = json!({"attempt": before.number, "verdict": null});
            continue;
        };
        let was: Vec<Value> =
            earlier["evidence"].as_array().into_iter().flatten().cloned().collect();
        for pair in check["evidence"].as_array_mut().into_iter().flatten() {
            let own = was.iter().find(|own| own["name"] == pair["name"]);
            pair["was"] = own
                .filter(|own| own["value"] != pair["value"])
                .map_or(Value::Null, |own| own["value"].clone());
        }
        if earlier["verdict"] != check["verdict"] || earlier["reason"] != check["reason"] {
            check["earlier"] = json!({
                "attempt": before.number, "verdict": earlier["verdict"], "reason": earlier["reason"],
            });
        }
    }
    let gone = |earlier: &&Value| !after.checks.iter().any(|check| same(earlier, check));
    after.gone = before.checks.iter().filter(gone).cloned().collect();
}

fn check(check: &CheckView) -> Value {
    let claim = check.check.strip_prefix("claim ");
    json!({
        "claim": claim.is_some(),
        "name": short(claim.unwrap_or(&check.check), 400),
        "verdict": check.verdict,
        "reason": check.reason.as_deref().map(|text| short(text, 2000)),
        "evidence": check.evidence.as_ref().map(evidence).unwrap_or_default(),
        "earlier": null,
    })
}

/// The observations of a check, each as a name and a text.
fn evidence(value: &Json) -> Vec<Value> {
    let Some(map) = value.as_object() else {
        return vec![
            json!({"name": "observed", "value": short(&json_text(value), 600), "was": null}),
        ];
    };
    let pair = |(name, value): (&String, &Json)| json!({"name": words(name), "value": short(&observed(name, value), 600), "was": null});
    map.iter().map(pair).collect()
}

fn words(name: &str) -> String {
    let lower = |c: char| {
        if c.is_ascii_uppercase() { format!(" {}", c.to_ascii_lowercase()) } else { c.to_string() }
    };
    name.chars().map(lower).collect()
}

/// One human-readable observation: a state of a file, a list, or the value.
fn observed(name: &str, value: &Json) -> String {
    match value {
        Json::Null => match name {
            "before" | "now" | "after" => "no file".to_owned(),
            _ => "none recorded".to_owned(),
        },
        Json::Array(items) if items.is_empty() => "none recorded".to_owned(),
        Json::Array(items) => items.iter().map(json_text).collect::<Vec<_>>().join(", "),
        Json::Object(map) if map.contains_key("sha256") && map.contains_key("size") => {
            let digest = map["sha256"].as_str().unwrap_or_default();
            let digest = digest.get(..12).unwrap_or(digest);
            format!("{} bytes, sha256 {digest}…", json_text(&map["size"]))
        }
        other => json_text(other),
    }
}
