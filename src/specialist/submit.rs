use super::{schema_text::in_words, text_form::json_candidates};
use crate::definition::{Schema, Violation};
use crate::llm::ToolDescription;
use crate::value::{Json, kind_of};
use serde_json::json;

/// The virtual tool by which a specialist hands in its output and ends.
pub const SUBMIT: &str = "submit_output";

/// Where an output that is no object is put.
const WRAPPER: &str = "output";

/// What is to be handed in: a schema, always with a `summary`.
#[derive(Debug, Clone)]
pub struct Submission {
    schema: Option<Schema>,
    asked: Json,
    wrapped: bool,
    own_summary: bool,
    summary_is_text: bool,
}

impl Submission {
    /// The step's schema holds over the specialist's; without either, a summary is all.
    pub fn new(step: Option<&Schema>, specialist: Option<&Schema>) -> Self {
        let schema = step.or(specialist).cloned();
        let json = schema.as_ref().map_or_else(|| json!({}), |schema| schema.json().clone());
        let wrapped = json.get("type").is_some_and(|kind| kind != "object");
        let own_summary = !wrapped && json.pointer("/properties/summary").is_some();
        let summary = json.pointer("/properties/summary/type");
        let summary_is_text = !own_summary || summary.is_none_or(|kind| kind == "string");
        let asked = with_summary(if wrapped { wrap(json) } else { json });
        Submission { schema, asked, wrapped, own_summary, summary_is_text }
    }

    /// The JSON Schema that a model is shown.
    pub fn schema(&self) -> &Json {
        &self.asked
    }

    /// The same as a list.
    pub fn in_words(&self) -> String {
        in_words(&self.asked)
    }

    /// The tool that a model is offered.
    pub fn tool(&self) -> ToolDescription {
        ToolDescription {
            name: SUBMIT.to_owned(),
            description: "Hands in your output and ends your work. Call it once, at the end."
                .to_owned(),
            schema: self.asked.clone(),
        }
    }

    /// The output, where what was handed in fits; else every way in which it does not.
    pub fn judge(&self, handed: &Json) -> Result<Json, Vec<Violation>> {
        let Some(value) = object(handed) else {
            let got = kind_of(handed);
            return Err(vec![violation("", format!("expected a JSON object, got a {got}"))]);
        };
        let mut violations = self.unfit(&value);
        let known =
            violations.iter().any(|v| v.pointer == "/summary" || v.message.contains("`summary`"));
        if self.summary_is_text && !known && !has_summary(&value) {
            violations.push(violation(
                "/summary",
                "`summary` is required: say in a few sentences what you did and found",
            ));
        }
        match violations.is_empty() {
            true => Ok(self.unwrap(value)),
            false => Err(violations),
        }
    }

    /// What a text hands in: the first JSON in it that fits.
    pub(super) fn judge_text(&self, text: &str) -> TextOutput {
        let candidates = json_candidates(text);
        if let Some(output) = candidates.iter().find_map(|json| self.judge(json).ok()) {
            return TextOutput::Fits(output);
        }
        match candidates.into_iter().find(Json::is_object) {
            Some(json) => TextOutput::Unfit(self.judge(&json).err().unwrap_or_default(), json),
            None => TextOutput::Nothing,
        }
    }

    fn unfit(&self, value: &Json) -> Vec<Violation> {
        let Some(schema) = &self.schema else { return Vec::new() };
        if self.wrapped {
            let Some(inner) = value.get(WRAPPER) else {
                return vec![violation("", format!("`{WRAPPER}` is required"))];
            };
            let mut found = schema.violations(inner);
            found.iter_mut().for_each(|v| v.pointer = format!("/{WRAPPER}{}", v.pointer));
            return found;
        }
        if self.own_summary {
            return schema.violations(value);
        }
        // The author's schema knows nothing of our summary and may refuse unknown keys.
        let mut own = value.clone();
        own.as_object_mut().map(|map| map.shift_remove("summary"));
        schema.violations(&own)
    }

    fn unwrap(&self, mut value: Json) -> Json {
        match self.wrapped {
            true => value[WRAPPER].take(),
            false => value,
        }
    }
}

/// What a text without calls hands in.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TextOutput {
    /// An output.
    Fits(Json),
    /// An object that does not fit.
    Unfit(Vec<Violation>, Json),
    /// No object.
    Nothing,
}

/// The violations as a list for the model.
pub(super) fn complaint(violations: &[Violation]) -> String {
    let lines = violations.iter().map(|v| match v.pointer.as_str() {
        "" => format!("- {}\n", v.message),
        pointer => format!("- {pointer}: {}\n", v.message),
    });
    format!("The output was not taken; it does not fit its schema:\n{}", lines.collect::<String>())
}

/// Arguments are an object, or the text of one from a model that encodes twice.
fn object(handed: &Json) -> Option<Json> {
    match handed {
        Json::Object(_) => Some(handed.clone()),
        Json::String(text) => serde_json::from_str(text).ok().filter(Json::is_object),
        _ => None,
    }
}

fn has_summary(value: &Json) -> bool {
    value.get("summary").and_then(Json::as_str).is_some_and(|text| !text.trim().is_empty())
}

fn violation(pointer: &str, message: impl Into<String>) -> Violation {
    Violation { pointer: pointer.to_owned(), message: message.into() }
}

/// Tools take objects only; definitions stay at the root, where references look for them.
fn wrap(mut inner: Json) -> Json {
    let definitions = inner.as_object_mut().and_then(|map| map.shift_remove("$defs"));
    let mut outer = json!({ "type": "object", "properties": {}, "required": [WRAPPER] });
    outer["properties"][WRAPPER] = inner;
    if let Some(definitions) = definitions {
        outer["$defs"] = definitions;
    }
    outer
}

fn with_summary(mut schema: Json) -> Json {
    let Some(map) = schema.as_object_mut() else {
        return with_summary(json!({}));
    };
    map.entry("type").or_insert_with(|| json!("object"));
    if let Some(properties) = map.entry("properties").or_insert_with(|| json!({})).as_object_mut() {
        properties.entry("summary").or_insert_with(
            || json!({ "type": "string", "description": "what was done and found, in a few sentences" }),
        );
    }
    if let Some(required) = map.entry("required").or_insert_with(|| json!([])).as_array_mut()
        && !required.iter().any(|name| name == "summary")
    {
        required.push(json!("summary"));
    }
    schema
}
