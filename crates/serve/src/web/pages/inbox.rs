//! Questions of all waiting runs, with a form for each.

use super::format::{part, short};
use super::frame;
use super::run::anchor;
use crate::web::call::Call;
use crate::web::problem::Problem;
use kb_base::value::{Json, Timestamp, counted, json_text};
use kb_core::wire::{Question, QuestionKind};
use kb_service::service::{
    AskEvidence, AskView, FileDiff, FileDiffKind, RunDiff, StepDiff, open_asks,
};
use kb_service::trigger::Role;
use serde_json::{Value, json};

/// Maximum number of fields that a schema becomes; a larger one is answered as JSON.
const FIELDS: usize = 30;
/// Maximum number of changed files of one question.
const FILES: usize = 200;

/// The page of open questions.
pub(in crate::web) fn inbox(call: &Call) -> Result<String, Problem> {
    let mut asks = Vec::new();
    for project in call.projects()? {
        asks.extend(open_asks(&project.shared.journal, call.now())?.iter().map(ask));
    }
    let content = json!({"asks": asks, "may": call.has(Role::Approve)});
    frame::page(call, "Inbox", "inbox.html", content)
}

fn ask(ask: &AskView) -> Value {
    let question = &ask.question;
    let (fields, shape) = match question.kind {
        QuestionKind::Approve => (Vec::new(), "none"),
        QuestionKind::Ask => fields(question),
    };
    json!({
        "anchor": anchor(&ask.run, &ask.instance),
        "run": ask.run,
        "definition": ask.definition,
        "step": ask.instance,
        "href": format!("/runs/{}?step={}#step", ask.run, part(&ask.instance)),
        "kind": question.kind,
        "question": short(&question.text, 8000),
        "expires": question.due.map(Timestamp::rfc3339),
        "evidence": ask.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "changes": changes(ask),
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
            "text": short(&text.concat(), 20_000),
            "href": format!("/runs/{}?step={}#step", run.run, part(&step.instance)),
        })
    };
    let differs = files.filter(|(_, _, file)| file.change != FileDiffKind::Rewritten);
    differs.take(FILES).map(file).collect()
}

/// A step that the question depends on, with what its gate found.
fn evidence(step: &AskEvidence) -> Value {
    let reasons: Vec<&str> =
        step.checks.iter().filter_map(|check| check.reason.as_deref()).collect();
    let mut text = step.status.to_string();
    if let Some(verdict) = step.verdict {
        text += &format!(", gate {verdict}, {}", counted(step.checks.len(), "check"));
    }
    if step.attempts > 1 {
        text += &format!(", {} attempts", step.attempts);
    }
    let text = [&[text.as_str()][..], &reasons].concat().join("\n");
    json!({"name": step.instance, "value": short(&text, 4000)})
}

/// The fields of an answer, and how they become one: `value` (one field is the answer) or `object`.
fn fields(question: &Question) -> (Vec<Value>, &'static str) {
    let default = question.default.as_deref();
    if !question.options.is_empty() {
        return (
            vec![field("answer", "Answer", "string", true, default, &question.options, None)],
            "value",
        );
    }
    let Some(schema) = &question.schema else {
        return (
            vec![field("answer", "Answer", "string", default.is_none(), default, &[], None)],
            "value",
        );
    };
    let properties =
        schema["properties"].as_object().filter(|all| !all.is_empty() && all.len() <= FIELDS);
    let Some(properties) = properties else {
        let kind = schema["type"].as_str().unwrap_or("json");
        return (
            vec![field("answer", "Answer", kind, default.is_none(), default, &[], None)],
            "value",
        );
    };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let one = |(name, part): (&String, &Json)| {
        let options: Vec<String> =
            part["enum"].as_array().into_iter().flatten().map(json_text).collect();
        let given = default.and_then(|all| all.get(name)).or(part.get("default"));
        let kind = part["type"].as_str().unwrap_or("json");
        let label = part["title"].as_str().unwrap_or(name);
        let help = part["description"].as_str();
        field(name, label, kind, required.contains(&name.as_str()), given, &options, help)
    };
    (properties.iter().map(one).collect(), "object")
}

/// A field of a form.
pub(super) fn field(
    name: &str,
    label: &str,
    kind: &str,
    required: bool,
    value: Option<&Json>,
    options: &[String],
    help: Option<&str>,
) -> Value {
    json!({
        "name": name, "label": label, "type": kind, "required": required,
        "value": value.map(json_text).unwrap_or_default(), "options": options, "help": help,
    })
}
