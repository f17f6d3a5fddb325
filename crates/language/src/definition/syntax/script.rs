//! Decodes scripts (`kb.script/1`).

use super::{Decoder, Node, Secrets, Value};
use crate::definition::keys::script as keys;
use crate::definition::model::{Script, ScriptCall, ScriptError, ScriptTurn};
use crate::expression::ValueTemplate;
use kb_base::diagnostic::{Code, Diagnostic};
use std::time::Duration;

/// Decodes a script. Its placeholders refer to parameters as `params.NAME`; only the run that uses the
/// script determines which of them exist.
pub(crate) fn script(root: &Node, decoder: &mut Decoder) -> Option<Script> {
    let fields = decoder.fields(root, &keys::SCRIPT)?;
    decoder.schema_version(&fields, "kb.script/1", "a script");
    let steps = decoder.required(&fields, "steps")?;
    script_steps(steps, decoder)
}

/// Decodes the turns of all steps.
pub(crate) fn script_steps(steps: &Node, decoder: &mut Decoder) -> Option<Script> {
    declare_params(steps, decoder);
    let Some(entries) = steps.as_map() else {
        decoder.wrong_type(steps, "steps", "a map from steps to lists of turns");
        return None;
    };
    let mut script = Script::default();
    for (key, node) in entries {
        let Some(items) = node.as_seq() else {
            decoder.wrong_type(node, &key.text, "a list of turns");
            continue;
        };
        let turns = items.iter().filter_map(|item| turn(item, decoder)).collect();
        script.steps.insert(key.text.to_string(), turns);
    }
    Some(script)
}

/// Declares every `params.NAME` in the texts.
fn declare_params(node: &Node, decoder: &mut Decoder) {
    match &node.value {
        Value::Seq(items) => items.iter().for_each(|item| declare_params(item, decoder)),
        Value::Map(entries) => entries.iter().for_each(|(_, item)| declare_params(item, decoder)),
        Value::Scalar(scalar) => {
            for rest in scalar.text.split("params.").skip(1) {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                let name = &rest[..end.unwrap_or(rest.len())];
                if !name.is_empty() {
                    decoder.names.params.insert(name.to_owned());
                }
            }
        }
        Value::Invalid => {}
    }
}

fn turn(node: &Node, decoder: &mut Decoder) -> Option<ScriptTurn> {
    let fields = decoder.fields(node, &keys::TURN)?;
    let says = keys::RESPONSE_NAMES.iter().any(|key| fields.entry(key).is_some());
    if !says && !fields.was_meant(keys::RESPONSE_NAMES) {
        decoder.push(
            Diagnostic::error(Code::BAD_TURN, node.span, "the turn has no response")
                .help("add `say`, `calls`, `output` or `error`"),
        );
    }
    Some(ScriptTurn {
        say: fields.text("say", decoder),
        calls: fields.get("calls").map(|node| calls(node, decoder)).unwrap_or_default(),
        output: fields.get("output").and_then(|n| decoder.value_template(n, Secrets::Refused)),
        usage: fields.get("usage").and_then(|node| usage(node, decoder)),
        delay: fields
            .integer("delayMs", decoder)
            .map(|millis| Duration::from_millis(millis.into())),
        error: fields.get("error").and_then(|node| error(node, decoder)),
        given: fields.texts("given", decoder),
    })
}

fn calls(node: &Node, decoder: &mut Decoder) -> Vec<ScriptCall> {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "calls", "a list of `{tool, args}`");
        return Vec::new();
    };
    items.iter().filter_map(|item| call(item, decoder)).collect()
}

fn call(node: &Node, decoder: &mut Decoder) -> Option<ScriptCall> {
    let fields = decoder.fields(node, &keys::CALL)?;
    let tool = decoder.required(&fields, "tool");
    let tool = tool.and_then(|node| decoder.text(node, "tool")).map(str::to_owned);
    let args = match fields.get("args") {
        Some(node) => decoder.value_template(node, Secrets::Refused)?,
        None => ValueTemplate::literal(serde_json::json!({})),
    };
    Some(ScriptCall { tool: tool?, args })
}

fn usage(node: &Node, decoder: &mut Decoder) -> Option<(u64, u64)> {
    let fields = decoder.fields(node, &keys::USAGE)?;
    let mut tokens = |key: &str| match fields.get(key) {
        Some(_) => fields.integer(key, decoder).map(u64::from),
        None => Some(0),
    };
    let (prompt, completion) = (tokens("prompt"), tokens("completion"));
    Some((prompt?, completion?))
}

fn error(node: &Node, decoder: &mut Decoder) -> Option<ScriptError> {
    let fields = decoder.fields(node, &keys::ERROR)?;
    let status = match fields.get("status") {
        Some(_) => fields.integer("status", decoder)?,
        None => 0,
    };
    let retry_after = fields.number("retryAfter", decoder);
    Some(ScriptError {
        status: status as u16,
        retry_after: retry_after.map(Duration::from_secs_f64),
        message: fields.text("message", decoder),
    })
}
