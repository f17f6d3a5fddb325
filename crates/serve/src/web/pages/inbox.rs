//! Questions of all waiting runs, with a form for each.

use super::form_fields::{self, field};
use super::format::{anchor, part, short};
use super::frame;
use super::runs::{Param, started_by};
use super::step::output;
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::web::state::WebProject;
use kb_base::value::{Json, RunId, Timestamp, counted, json_text};
use kb_core::wire::{Question, QuestionKind, StepStatus};
use kb_engine::inspect::{StepReply, step_work};
use kb_service::service::{
    AskEvidence, AskView, FileDiff, FileDiffKind, Reader, RunDiff, StepDiff, open_asks,
};
use kb_service::trigger::Role;
use serde_json::{Value, json};

/// Maximum size of the changes of one question in bytes: what is not shown here cannot be approved here.
const CHANGES: usize = 8 << 20;
/// Maximum length of a question in characters, for the same reason.
const QUESTION: usize = 8_000;

/// The page of open questions.
pub(in crate::web) fn inbox(call: &Call) -> Result<String, Problem> {
    let mut asks = Vec::new();
    for project in call.projects()? {
        for open in open_asks((&project.shared.journal, &project.shared.context.root), call.now())?
        {
            let started_by = RunId::new(&open.run)
                .map_or_else(|_| String::new(), |id| started_by(&project, &id));
            let mut card = ask(&project, &open);
            card["startedBy"] = json!(started_by);
            card["project"] = json!(call.name_of(&project));
            asks.push(card);
        }
    }
    let content = json!({"asks": asks, "may": call.has(Role::Approve)});
    frame::page(call, "Inbox", "inbox.html", content)
}

fn ask(project: &WebProject, ask: &AskView) -> Value {
    let question = &ask.question;
    let (fields, shape) = match question.kind {
        QuestionKind::Approve => (Vec::new(), "none"),
        QuestionKind::Ask => fields(question),
    };
    let changes = changes(ask);
    let size = |change: &Value| change["text"].as_str().map_or(0, str::len) + 200;
    let is_cut = question.text.chars().count() > QUESTION;
    let too_large = is_cut || changes.iter().map(size).sum::<usize>() > CHANGES;
    json!({
        "anchor": anchor(&ask.run, &ask.instance),
        "run": ask.run,
        "definition": ask.definition,
        "step": ask.instance,
        "href": format!("/runs/{}?step={}#step", ask.run, part(&ask.instance)),
        "params": Param::all(&ask.params),
        "asked": ask.asked_at,
        "kind": question.kind,
        "question": short(&question.text, QUESTION),
        "cut": is_cut,
        "expires": question.due.map(Timestamp::rfc3339),
        "evidence": ask.evidence.iter().map(|step| evidence(project, &ask.run, step)).collect::<Vec<_>>(),
        "earlier": replies(project, &ask.run, &ask.instance),
        "changes": if too_large { Vec::new() } else { changes },
        "tooLarge": too_large,
        "then": ask.then,
        "fields": fields,
        "shape": shape,
        "api": format!("/api/v1/asks/{}", part(&ask.id)),
        "digest": ask.digest,
    })
}

/// The files about which an approval decides, with the lines that changed.
fn changes(ask: &AskView) -> Vec<Value> {
    let steps = ask.changes.iter().flat_map(|run| run.steps.iter().map(move |step| (run, step)));
    let files = steps.flat_map(|(run, step)| step.files.iter().map(move |file| (run, step, file)));
    let file = |(run, step, file): (&RunDiff, &StepDiff, &FileDiff)| {
        let text: Vec<&str> = file.patches.iter().map(|patch| patch.text.as_str()).collect();
        json!({
            "path": file.path, "change": file.change.as_str(), "step": step.instance,
            "text": text.concat(),
            "href": format!("/runs/{}?step={}#step", run.run, part(&step.instance)),
        })
    };
    let differs = files.filter(|(_, _, file)| file.change != FileDiffKind::Rewritten);
    differs.map(file).collect()
}

/// What people replied to a step before, oldest first.
fn replies(project: &WebProject, run: &str, step: &str) -> Vec<String> {
    let reader = Reader::open(project.shared.journal.clone(), run);
    let work = reader.and_then(|reader| step_work(reader, step));
    let replies = work.map(|(_, replies)| replies).unwrap_or_default();
    let line = |reply: &StepReply| {
        let answer = reply.answer.as_deref();
        let what = match (reply.approved, answer) {
            (true, Some(_)) => "answered",
            (true, None) => "approved",
            (false, _) => "rejected",
        };
        let answer = answer.map(|answer| format!(": {}", json_text(answer)));
        let comment = reply.comment.as_deref().map(|text| format!(" ({text})"));
        let (answer, comment) = (answer.unwrap_or_default(), comment.unwrap_or_default());
        short(&format!("{what} by {}{answer}{comment}", reply.by), 4000)
    };
    replies.iter().map(line).collect()
}

/// A step that the question depends on, with what its gate found, what people replied to it, and its output.
fn evidence(project: &WebProject, run: &str, step: &AskEvidence) -> Value {
    let reasons: Vec<&str> =
        step.checks.iter().filter_map(|check| check.reason.as_deref()).collect();
    let mut text = step.status.to_string();
    if let Some(verdict) = step.verdict {
        text += &format!(", gate {verdict}, {}", counted(step.checks.len(), "check"));
    }
    if step.attempts > 1 {
        text += &format!(", {} attempts", step.attempts);
    }
    let mut lines = vec![text];
    lines.extend(reasons.into_iter().map(str::to_owned));
    let replies = replies(project, run, &step.instance);
    let has_replies = !replies.is_empty();
    lines.extend(replies);
    if step.status == StepStatus::Succeeded && !has_replies {
        lines.extend(output(project, run, Some(&step.instance)).map(|text| short(&text, 4000)));
    }
    json!({"name": step.instance, "value": short(&lines.join("\n"), 8000)})
}

/// The fields of an answer, and how they become one: `value` (one field is the answer) or `object`.
fn fields(question: &Question) -> (Vec<Value>, &'static str) {
    let default = question.default.as_deref();
    let text = json!({"type": "string"});
    let schema = question.schema.as_deref().unwrap_or(&text);
    let one = |schema: &Json| {
        (vec![field(("answer", "Answer"), schema, default.is_none(), default)], "value")
    };
    if !question.options.is_empty() {
        return one(&json!({"type": "string", "enum": question.options}));
    }
    match form_fields::fields(schema, default) {
        Some(fields) => (fields, "object"),
        None => one(schema),
    }
}
