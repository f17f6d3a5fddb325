//! `expr:`: an expression is true.

use super::spec::CheckKind;
use crate::definition::keys::{KeySpec, KeyType, key};
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::{Expression, Reference};

impl CheckKind for Expression {
    const NAME: &'static str = "expr";
    const KEYS: &'static [KeySpec] = &[key("expr", KeyType::Expression, "The expression is true.")
        .example("\"{{build.output.warnings}} == 0\"")];

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<Expression> {
        decoder.expression(node, "expr")
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        vec![Expression::references(self).iter().collect()]
    }

    fn reads_changes(&self) -> bool {
        false
    }
}
