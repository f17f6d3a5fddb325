//! What of a syntax tree is a literal path, and where its parts are written.

use super::resolve::{Key, Segment};
use minijinja::machinery::ast::{Expr, UnaryOpKind};
use std::ops::Range;

/// The literal path that an expression is, if it is one.
pub(super) fn path_of(tree: &Expr<'_>) -> Option<Vec<Segment>> {
    let (inner, key) = match tree {
        Expr::Var(var) => {
            return Some(vec![Segment { key: Key::Name(var.id.to_owned()), at: range_of(tree) }]);
        }
        Expr::GetAttr(attribute) => (&attribute.expr, Key::Name(attribute.name.to_owned())),
        Expr::GetItem(item) => (&item.expr, literal_key(&item.subscript_expr)?),
        _ => return None,
    };
    let mut path = path_of(inner)?;
    let end = tree.span().end_offset as usize;
    let width = match &key {
        Key::Name(name) => name.len(),
        Key::Index(_) => 1,
    };
    let at = match tree {
        Expr::GetItem(item) => range_of(&item.subscript_expr),
        _ => end.saturating_sub(width)..end,
    };
    path.push(Segment { key, at });
    Some(path)
}

fn literal_key(subscript: &Expr<'_>) -> Option<Key> {
    match subscript {
        Expr::Const(constant) => match constant.value.as_str() {
            Some(name) => Some(Key::Name(name.to_owned())),
            None if constant.value.is_integer() => constant.value.as_i64().map(Key::Index),
            None => None,
        },
        Expr::UnaryOp(unary) if matches!(unary.op, UnaryOpKind::Neg) => {
            match literal_key(&unary.expr)? {
                Key::Index(index) => index.checked_neg().map(Key::Index),
                Key::Name(_) => None,
            }
        }
        _ => None,
    }
}

/// Where an expression is written. The engine's spans of nested operations begin late; their
/// innermost part says where they begin.
pub(super) fn range_of(tree: &Expr<'_>) -> Range<usize> {
    let start = start_of(tree);
    start..(tree.span().end_offset as usize).max(start)
}

pub(super) fn start_of(tree: &Expr<'_>) -> usize {
    match tree {
        Expr::GetAttr(attribute) => start_of(&attribute.expr),
        Expr::GetItem(item) => start_of(&item.expr),
        Expr::Slice(slice) => start_of(&slice.expr),
        Expr::Call(call) => start_of(&call.expr),
        Expr::Test(test) => start_of(&test.expr),
        Expr::BinOp(binary) => start_of(&binary.left),
        Expr::Compare(chain) => start_of(&chain.expr),
        Expr::IfExpr(choice) => start_of(&choice.true_expr),
        Expr::Filter(filter) => match &filter.expr {
            Some(input) => start_of(input),
            None => tree.span().start_offset as usize,
        },
        _ => tree.span().start_offset as usize,
    }
}
