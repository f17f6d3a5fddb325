//! `playbook:`: a child run. Not supported yet; its keys are checked.

use super::spec::Kind;
use crate::definition::model::{NotYet, StepKind};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};

pub(super) static PLAYBOOK: Kind =
    Kind { unused_input: Some("pass values in `with:`"), ..Kind::new("playbook", decode) };

fn decode(
    node: &Node,
    fields: &Fields<'_>,
    decoder: &mut Decoder,
    _: &mut Vec<NotYet>,
) -> Option<StepKind> {
    decoder.text(node, "playbook");
    if let Some(with) = fields.get("with") {
        decoder.value_map(with, "with", Secrets::Refused);
    }
    Some(StepKind::NotYet("playbook"))
}
