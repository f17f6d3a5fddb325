//! `approve:`: waits for the approval of a person.

use super::spec::Kind;
use crate::definition::keys::choices::ON_TIMEOUT;
use crate::definition::keys::step_parts;
use crate::definition::model::{ApproveStep, NotYet, OnTimeout, StepKind};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};

pub(super) static APPROVE: Kind = Kind::waiting(
    "approve",
    decode,
    waiting_exclusions!(
        "approve",
        "write it in `approve: {message: ..., timeout: ...}`",
        "remove it; the output of a `approve` step has a fixed form"
    ),
);

/// Decodes a text (the message) or a map.
fn decode(
    node: &Node,
    _: &Fields<'_>,
    decoder: &mut Decoder,
    _: &mut Vec<NotYet>,
) -> Option<StepKind> {
    if node.as_text().is_some() {
        let message = decoder.template(node, "approve", Secrets::Refused)?;
        let approve = ApproveStep { message, timeout: None, on_timeout: OnTimeout::default() };
        return Some(StepKind::Approve(approve.into()));
    }
    let fields = decoder.fields(node, &step_parts::APPROVE)?;
    let message = decoder
        .required(&fields, "message")
        .and_then(|node| decoder.template(node, "message", Secrets::Refused));
    let timeout = fields.duration("timeout", decoder);
    let on_timeout = fields.choice("onTimeout", ON_TIMEOUT, decoder);
    if let (Some((key, _)), None) = (fields.entry("onTimeout"), fields.get("timeout")) {
        let message = "`onTimeout` needs a `timeout`".to_owned();
        decoder.bad_value(key.span, message, "add `timeout: 30m`, or remove the key".to_owned());
    }
    let on_timeout = on_timeout.unwrap_or_default();
    Some(StepKind::Approve(ApproveStep { message: message?, timeout, on_timeout }.into()))
}
