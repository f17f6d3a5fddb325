//! `set:`: values computed from expressions.

use super::spec::Kind;
use crate::definition::model::{NotYet, StepKind};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};

pub(super) static SET: Kind = Kind {
    starts_process: |_| false,
    no_effect: &["retrySafe", "evidence"],
    no_effect_without_verify: &["workspace"],
    ..Kind::new("set", decode)
};

fn decode(
    node: &Node,
    _: &Fields<'_>,
    decoder: &mut Decoder,
    _: &mut Vec<NotYet>,
) -> Option<StepKind> {
    Some(StepKind::Set(decoder.value_map(node, "set", Secrets::Refused)))
}
