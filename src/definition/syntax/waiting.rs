//! Reads the step kinds `ask`, `approve` and `wait`.

use super::templates::Secrets;
use super::{Decoder, Node};
use crate::definition::model::{ApproveStep, AskStep, OnTimeout, StepKind, WaitStep};
use crate::definition::schema::Schema;

/// `ask:`, as a text (the question) or a map.
pub(crate) fn ask(node: &Node, decoder: &mut Decoder) -> Option<StepKind> {
    if node.as_text().is_some() {
        let question = decoder.template(node, "ask", Secrets::Refused)?;
        let (options, schema, default, timeout) = (Vec::new(), None, None, None);
        let ask = AskStep { question, options, schema, default, timeout };
        return Some(StepKind::Ask(ask.into()));
    }
    let keys = ["question", "options", "schema", "default", "timeout"];
    let fields = decoder.fields(node, "`ask`", &keys)?;
    let question = decoder
        .required(&fields, "question", "`ask`")
        .and_then(|node| decoder.template(node, "question", Secrets::Refused));
    let options = fields.get("options").map(|node| decoder.texts(node, "options"));
    let schema = match fields.get("schema") {
        Some(node) => Some(Schema::decode(node, decoder)?),
        None => None,
    };
    if let (Some(_), Some((key, _))) = (&options, fields.entry("schema")) {
        let message = "`ask` has `options` or `schema`, not both".to_owned();
        let help = "keep `options` for a choice, or write an `enum` in the schema".to_owned();
        decoder.bad_value(key.span, message, help);
    }
    let timeout = fields.get("timeout").and_then(|node| decoder.duration(node, "timeout"));
    if let (Some((key, _)), None) = (fields.entry("timeout"), fields.get("default")) {
        let message = "`timeout` of `ask` needs a `default`".to_owned();
        let help = "add `default:`, the answer that is taken when the time is up".to_owned();
        decoder.bad_value(key.span, message, help);
    }
    let mut ask = AskStep {
        question: question?,
        options: options.unwrap_or_default(),
        schema,
        default: None,
        timeout,
    };
    if let Some(node) = fields.get("default") {
        let default = node.to_json();
        match ask.check(&default) {
            Ok(()) => ask.default = Some(default),
            Err(expected) => {
                let message = format!("the default is not an accepted answer: {expected}");
                decoder.bad_value(node.span, message, "correct the default".to_owned());
                return None;
            }
        }
    }
    Some(StepKind::Ask(ask.into()))
}

/// `approve:`, as a text (the message) or a map.
pub(crate) fn approve(node: &Node, decoder: &mut Decoder) -> Option<StepKind> {
    if node.as_text().is_some() {
        let message = decoder.template(node, "approve", Secrets::Refused)?;
        let approve = ApproveStep { message, timeout: None, on_timeout: OnTimeout::default() };
        return Some(StepKind::Approve(approve.into()));
    }
    let fields = decoder.fields(node, "`approve`", &["message", "timeout", "onTimeout"])?;
    let message = decoder
        .required(&fields, "message", "`approve`")
        .and_then(|node| decoder.template(node, "message", Secrets::Refused));
    let timeout = fields.get("timeout").and_then(|node| decoder.duration(node, "timeout"));
    let choices =
        [("approve", OnTimeout::Approve), ("reject", OnTimeout::Reject), ("fail", OnTimeout::Fail)];
    let on_timeout =
        fields.get("onTimeout").and_then(|node| decoder.one_of(node, "onTimeout", &choices));
    if let (Some((key, _)), None) = (fields.entry("onTimeout"), fields.get("timeout")) {
        let message = "`onTimeout` needs a `timeout`".to_owned();
        decoder.bad_value(key.span, message, "add `timeout: 30m`, or remove the key".to_owned());
    }
    let on_timeout = on_timeout.unwrap_or_default();
    Some(StepKind::Approve(ApproveStep { message: message?, timeout, on_timeout }.into()))
}

/// `wait:`, as a duration or as `{until: TIME}`.
pub(crate) fn wait(node: &Node, decoder: &mut Decoder) -> Option<StepKind> {
    let wait = match node.as_map() {
        None => WaitStep::For(decoder.duration(node, "wait")?),
        Some(_) => {
            let fields = decoder.fields(node, "`wait`", &["until"])?;
            let until = decoder.required(&fields, "until", "`wait`")?;
            let template = decoder.template(until, "until", Secrets::Refused)?;
            if let Some(text) = template.as_literal()
                && crate::value::Timestamp::parse(text).is_none()
            {
                let message = format!("`{text}` is not a time");
                let help = "write a time with its zone, such as `2026-11-23T09:00:00Z`".to_owned();
                decoder.bad_value(until.span, message, help);
                return None;
            }
            WaitStep::Until(template)
        }
    };
    Some(StepKind::Wait(wait.into()))
}
