//! The `submit_output` tool: the schema of an output and its validation.

use super::{schema_text::to_text, text_form::json_candidates};
use crate::llm::ToolDescription;
use kb_base::value::{Json, kind_of};
use kb_core::evidence::{HANDOFF, Handoff};
use kb_language::definition::{Schema, Violation};
use serde_json::json;

/// The virtual tool with which a specialist submits its output and ends.
pub const SUBMIT: &str = "submit_output";

/// The key of an output that is not an object.
const WRAPPER: &str = "output";

/// The required output: a schema, always with a `summary`.
#[derive(Debug, Clone)]
pub struct Submission {
    schema: Option<Schema>,
    asked: Json,
    wrapped: bool,
    own_summary: bool,
    summary_is_text: bool,
    /// Whether `handoff` is asked for, and is no key of the author.
    handoff: bool,
    /// Whether the last message of a coding agent is the output.
    of_agent: bool,
}

impl Submission {
    /// The schema of the step, else that of the specialist, else only a summary.
    pub fn new(step: Option<&Schema>, specialist: Option<&Schema>) -> Self {
        let schema = step.or(specialist).cloned();
        let json = schema.as_ref().map_or_else(|| json!({}), |schema| schema.json().clone());
        let wrapped = json.get("type").is_some_and(|kind| kind != "object");
        let own_summary = !wrapped && json.pointer("/properties/summary").is_some();
        let summary = json.pointer("/properties/summary/type");
        let summary_is_text = !own_summary || summary.is_none_or(|kind| kind == "string");
        let asked = with_summary(if wrapped { wrap(json) } else { json });
        Submission {
            schema,
            asked,
            wrapped,
            own_summary,
            summary_is_text,
            handoff: false,
            of_agent: false,
        }
    }

    /// The same, which also asks for what later steps need to know. A key `handoff` of the author stays.
    #[must_use]
    pub fn with_handoff(mut self) -> Self {
        self.handoff = self.asked["properties"].get(HANDOFF).is_none();
        if self.handoff {
            self.asked["properties"][HANDOFF] = Handoff::schema();
        }
        self
    }

    /// The same for a coding agent, which submits by its last message.
    #[must_use]
    pub fn of_agent(self) -> Self {
        Submission { of_agent: true, ..self }
    }

    /// Whether the last message of a coding agent is the output.
    pub(super) fn is_of_agent(&self) -> bool {
        self.of_agent
    }

    /// Whether a text alone is an output: the summary of a coding agent of which nothing else is asked.
    pub(super) fn takes_text(&self) -> bool {
        self.of_agent && self.schema.is_none()
    }

    /// The JSON Schema that the model sees.
    pub fn schema(&self) -> &Json {
        &self.asked
    }

    /// The schema as a list of keys.
    pub fn to_text(&self) -> String {
        to_text(&self.asked)
    }

    /// The definition of `submit_output`.
    pub fn tool(&self) -> ToolDescription {
        ToolDescription {
            name: SUBMIT.to_owned(),
            description: "Submit the output and end the task. Call it exactly once, when the task is complete."
                .to_owned(),
            schema: self.asked.clone(),
        }
    }

    /// What the arguments pass on to later steps.
    pub fn handoff(&self, args: &Json) -> Handoff {
        let value = object(args);
        let value = value.as_ref().and_then(|value| value.get(HANDOFF));
        value.map(Handoff::decode).unwrap_or_default()
    }

    /// The output if the arguments match the schema, else every violation.
    pub fn validate(&self, args: &Json) -> Result<Json, Vec<Violation>> {
        let Some(mut value) = object(args) else {
            let got = kind_of(args);
            return Err(vec![violation("", format!("expected a JSON object, got a {got}"))]);
        };
        if self.handoff {
            value.as_object_mut().and_then(|map| map.shift_remove(HANDOFF));
        }
        let mut violations = self.unfit(&value);
        let known =
            violations.iter().any(|v| v.pointer == "/summary" || v.message.contains("`summary`"));
        if self.summary_is_text && !known && !has_summary(&value) {
            violations.push(violation(
                "/summary",
                "`summary` is required: state in a few sentences what you did and found",
            ));
        }
        if violations.is_empty() { Ok(self.unwrap(value)) } else { Err(violations) }
    }

    /// The output in a text: the first JSON value in it that matches the schema.
    pub(super) fn validate_text(&self, text: &str) -> TextOutput {
        let candidates = json_candidates(text);
        let valid = |json: &Json| Some((self.validate(json).ok()?, self.handoff(json)));
        if let Some((output, handoff)) = candidates.iter().find_map(valid) {
            return TextOutput::Valid(output, Box::new(handoff));
        }
        let text = text.trim();
        if self.takes_text() && !text.is_empty() {
            return TextOutput::Valid(json!({"summary": text}), Box::default());
        }
        match candidates.into_iter().find(Json::is_object) {
            Some(json) => TextOutput::Invalid(self.validate(&json).err().unwrap_or_default(), json),
            None => TextOutput::None,
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
        // The schema of the author may refuse unknown keys, and `summary` is not one of its own.
        let mut own = value.clone();
        own.as_object_mut().map(|map| map.shift_remove("summary"));
        schema.violations(&own)
    }

    fn unwrap(&self, mut value: Json) -> Json {
        if self.wrapped { value[WRAPPER].take() } else { value }
    }
}

/// The output in a text without tool calls.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TextOutput {
    /// An output that its schema accepts, and what it passes on.
    Valid(Json, Box<Handoff>),
    /// An object with violations of the schema.
    Invalid(Vec<Violation>, Json),
    /// The text contains no object.
    None,
}

/// The violations as a message for the model.
pub(super) fn rejection(violations: &[Violation]) -> String {
    let lines = violations.iter().map(|v| match v.pointer.as_str() {
        "" => format!("- {}\n", v.message),
        pointer => format!("- {pointer}: {}\n", v.message),
    });
    format!(
        "The output was rejected; it does not match the output schema:\n{}",
        lines.collect::<String>()
    )
}

/// The arguments as an object; some models send the object as a JSON string.
fn object(args: &Json) -> Option<Json> {
    match args {
        Json::Object(_) => Some(args.clone()),
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

/// Wraps a schema in an object, because tools accept only objects. `$defs` stay at the root, where
/// references resolve.
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
            || json!({ "type": "string", "description": "what you did and found, in a few sentences" }),
        );
    }
    if let Some(required) = map.entry("required").or_insert_with(|| json!([])).as_array_mut()
        && !required.iter().any(|name| name == "summary")
    {
        required.push(json!("summary"));
    }
    schema
}
