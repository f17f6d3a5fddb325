//! Questions of all waiting runs, with a form for each.

use super::format::{part, short};
use super::frame;
use super::run::anchor;
use crate::service::Reader;
use crate::trigger::Role;
use crate::value::{Json, Timestamp, json_text};
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::wire::{InstanceView, Question, QuestionKind, RunView};
use serde_json::{Value, json};

/// Maximum number of fields that a schema becomes; a larger one is answered as JSON.
const FIELDS: usize = 30;

/// The page of open questions.
pub(in crate::web) fn inbox(call: &Call) -> Result<String, Problem> {
    let mut asks = Vec::new();
    for project in call.projects()? {
        for row in project.shared.journal.waiting()? {
            let reader = Reader::open(project.shared.journal.clone(), row.run.as_str());
            let Ok(view) = reader.and_then(|mut reader| reader.view()) else { continue };
            for step in &view.steps {
                let Some(question) = &step.question else { continue };
                asks.push(ask(&view, step, question));
            }
        }
    }
    let content = json!({"asks": asks, "may": call.has(Role::Approve)});
    frame::page(call, "Inbox", "inbox.html", content)
}

fn ask(run: &RunView, step: &InstanceView, question: &Question) -> Value {
    let (fields, shape) = match question.kind {
        QuestionKind::Approve => (Vec::new(), "none"),
        QuestionKind::Ask => fields(question),
    };
    json!({
        "anchor": anchor(&run.run, &step.instance),
        "run": run.run,
        "definition": run.definition,
        "step": step.instance,
        "href": format!("/runs/{}?step={}#step", run.run, part(&step.instance)),
        "kind": question.kind,
        "question": short(&question.text, 8000),
        "expires": question.due.map(Timestamp::rfc3339),
        "evidence": evidence(run, step),
        "fields": fields,
        "shape": shape,
        "api": super::asks::address(&run.run, &step.instance),
        "digest": super::asks::digest(question),
    })
}

/// What a person should know: the results of the steps before it that have a gate.
fn evidence(run: &RunView, step: &InstanceView) -> Vec<Value> {
    let before = run.steps.iter().take_while(|other| other.instance != step.instance);
    let gated = before.filter_map(|other| Some((other, other.verdict?)));
    let line = |(other, verdict): (&InstanceView, crate::wire::Verdict)| {
        let reasons = other.checks.iter().filter_map(|check| check.reason.as_deref());
        let reasons: Vec<&str> = reasons.collect();
        let count = other.checks.len();
        let text = format!("gate {verdict}, {}", crate::value::counted(count, "check"));
        let text =
            if reasons.is_empty() { text } else { format!("{text}\n{}", reasons.join("\n")) };
        json!({"name": other.instance, "value": short(&text, 4000)})
    };
    gated.map(line).collect()
}

/// The fields of an answer, and how they become one: `value` (one field is the answer) or `object`.
fn fields(question: &Question) -> (Vec<Value>, &'static str) {
    let default = question.default.as_ref();
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
