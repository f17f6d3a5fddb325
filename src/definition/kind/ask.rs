//! `ask:`: waits for the answer of a person.

use super::spec::Kind;
use crate::definition::keys::step_parts;
use crate::definition::model::{AnswerRule, AskStep, NotYet, StepKind};
use crate::definition::schema::Schema;
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};

pub(super) static ASK: Kind = Kind::waiting(
    "ask",
    decode,
    waiting_exclusions!(
        "ask",
        "write it in `ask: {question: ..., timeout: ..., default: ...}`",
        "write `ask: {question: ..., schema: ...}`"
    ),
);

/// Decodes a text (the question) or a map.
fn decode(
    node: &Node,
    _: &Fields<'_>,
    decoder: &mut Decoder,
    _: &mut Vec<NotYet>,
) -> Option<StepKind> {
    if node.as_text().is_some() {
        let question = decoder.template(node, "ask", Secrets::Refused)?;
        let ask = AskStep { question, answer: AnswerRule::default(), timeout: None };
        return Some(StepKind::Ask(ask.into()));
    }
    let fields = decoder.fields(node, &step_parts::ASK)?;
    let question = decoder
        .required(&fields, "question")
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
    let timeout = fields.duration("timeout", decoder);
    if let (Some((key, _)), None) = (fields.entry("timeout"), fields.get("default")) {
        let message = "`timeout` of `ask` needs a `default`".to_owned();
        let help = "add `default:`, the answer that is taken when the time is up".to_owned();
        decoder.bad_value(key.span, message, help);
    }
    let options = options.unwrap_or_default();
    let question = question?;
    let mut answer = AnswerRule { options, schema, default: None };
    if let Some(node) = fields.get("default") {
        let default = node.to_json();
        match answer.check(&default) {
            Ok(()) => answer.default = Some(default),
            Err(expected) => {
                let message = format!("the default is not an accepted answer: {expected}");
                decoder.bad_value(node.span, message, "correct the default".to_owned());
                return None;
            }
        }
    }
    Some(StepKind::Ask(AskStep { question, answer, timeout }.into()))
}
