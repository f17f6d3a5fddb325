//! Literal paths in syntax trees, with the positions of their parts.

use super::keys::{Key, PathSegment};
use minijinja::machinery::ast::{Expr, UnaryOpKind};
use std::ops::Range;

/// The literal path of an expression; `None` for any other expression.
pub(super) fn path_of(tree: &Expr<'_>) -> Option<Vec<PathSegment>> {
    let (inner, key) = match tree {
        Expr::Var(var) => {
            return Some(vec![PathSegment { key: Key::Name(var.id.into()), at: range_of(tree) }]);
        }
        Expr::GetAttr(attribute) => (&attribute.expr, Key::Name(attribute.name.into())),
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
    path.push(PathSegment { key, at });
    Some(path)
}

/// Words that minijinja does not accept as names.
const RESERVED: [&str; 13] = [
    "true", "false", "none", "True", "False", "None", "and", "or", "not", "in", "is", "if", "else",
];

/// The path and range of a text that consists only of names joined by dots, as most placeholders do. The
/// parser of minijinja would take a hundred times longer.
pub(super) fn plain_path(code: &str) -> Option<(Vec<PathSegment>, Range<usize>)> {
    let path = code.trim_ascii();
    let start = code.len() - code.trim_ascii_start().len();
    let mut segments = Vec::with_capacity(4);
    let mut at = start;
    for name in path.split('.') {
        let is_inner = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let is_name = name.bytes().all(is_inner)
            && name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
        if !is_name || RESERVED.contains(&name) {
            return None;
        }
        let written = at..at + name.len();
        segments.push(PathSegment { key: Key::Name(name.into()), at: written });
        at += name.len() + 1;
    }
    Some((segments, start..start + path.len()))
}

fn literal_key(subscript: &Expr<'_>) -> Option<Key> {
    match subscript {
        Expr::Const(constant) => match constant.value.as_str() {
            Some(name) => Some(Key::Name(name.into())),
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

/// The range of an expression. Spans of nested operations start too late in minijinja, so the start is
/// that of the innermost part.
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

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::machinery::parse_expr;

    /// Compares a plain path with the parser of minijinja.
    fn check(code: &str, is_plain: bool) {
        let plain = plain_path(code);
        assert_eq!(plain.is_some(), is_plain, "{code:?}");
        let Some((segments, at)) = plain else { return };
        let tree = parse_expr(code).expect("a path is an expression");
        let read = path_of(&tree).expect("and nothing else");
        let text = |path: &[PathSegment]| format!("{path:?}");
        assert_eq!((text(&segments), at), (text(&read), range_of(&tree)), "{code:?}");
    }

    #[test]
    fn a_plain_path_is_what_the_engine_reads() {
        for code in
            ["a", "a.b", " a.b_c.d9 ", "_x.y", "\ta.b\n", "steps.output", "self.b", "a.loop"]
        {
            check(code, true);
        }
        for code in ["", " ", "a.", ".a", "a..b", "a.0", "a[0]", "a-b", "a .b", "a b", "9a", "é.a"]
        {
            check(code, false);
        }
        for word in RESERVED {
            check(word, false);
            check(&format!("{word}.a"), false);
            check(&format!("a.{word}"), false);
        }
    }
}
