//! `wait:`: a durable timer.

use super::spec::Kind;
use crate::definition::keys::step_parts;
use crate::definition::model::{NotYet, StepKind, WaitStep};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::value::Timestamp;

pub(super) static WAIT: Kind = Kind::waiting(
    "wait",
    decode,
    waiting_exclusions!(
        "wait",
        "remove it; a `wait` step has no attempts, it only waits",
        "remove it; the output of a `wait` step has a fixed form"
    ),
);

/// Decodes a duration, or `{until: TIME}`.
fn decode(
    node: &Node,
    _: &Fields<'_>,
    decoder: &mut Decoder,
    _: &mut Vec<NotYet>,
) -> Option<StepKind> {
    if node.as_map().is_none() {
        return Some(StepKind::Wait(WaitStep::For(decoder.duration(node, "wait")?).into()));
    }
    let fields = decoder.fields(node, &step_parts::WAIT)?;
    let until = decoder.required(&fields, "until")?;
    let template = decoder.template(until, "until", Secrets::Refused)?;
    if let Some(text) = template.as_literal()
        && Timestamp::parse(text).is_none()
    {
        let message = format!("`{text}` is not a time");
        let help = "write a time with its zone, such as `2026-11-23T09:00:00Z`".to_owned();
        decoder.bad_value(until.span, message, help);
        return None;
    }
    Some(StepKind::Wait(WaitStep::Until(template).into()))
}
