//! `gate:`: checks without other work.

use super::spec::Kind;
use crate::definition::gate_check::checks;
use crate::definition::model::{NotYet, StepKind};
use crate::definition::syntax::{Decoder, Fields, Node};

pub(super) static GATE: Kind = Kind {
    excluded: &[("output", "remove it; the output of a `gate` step has a fixed form")],
    no_effect: &["retrySafe", "evidence"],
    ..Kind::new("gate", decode)
};

fn decode(
    node: &Node,
    _: &Fields<'_>,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Option<StepKind> {
    Some(StepKind::Gate(checks(node, "gate", decoder, not_yet).into()))
}
