//! `expr:`: an expression is true.

use super::spec::CheckKind;
use crate::definition::model::Check;

pub(super) static EXPR: CheckKind = CheckKind {
    key: "expr",
    decode: |node, _, decoder| decoder.expression(node, "expr").map(Check::Expr),
};
