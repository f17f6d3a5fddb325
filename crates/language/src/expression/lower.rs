//! Rewrites a syntax tree of minijinja to the source that is evaluated: names become slots, operators
//! become calls of typed functions with limits, and all references are collected.
//!
//! Because the tree comes from minijinja, the checked text and the evaluated text cannot differ.

use super::convert::from_value;
use super::engine::{FILTERS, TESTS};
use super::fault::Fault;
use super::keys::{Key, PathSegment};
use super::method_filter::method_filter;
use super::outcomes::unknown_words;
use super::path::{path_of, range_of, start_of};
use super::program::{Compiled, Program, Slot};
use super::reference::Reference;
use super::resolve::Unresolved;
use super::source_text::SourceText;
use kb_base::diagnostic::{Code, nearest};
use minijinja::machinery::ast::{BinOpKind, Call, CallArg, CompareOpKind, Expr, UnaryOpKind};
use minijinja::value::{Value, ValueKind};
use std::ops::Range;

/// The result of rewriting a syntax tree.
#[derive(Debug)]
pub(super) struct Lowered {
    /// Usable only if there are no problems.
    pub(super) program: Result<Program, Fault>,
    pub(super) problems: Vec<Unresolved>,
}

/// Resolves and rewrites an expression.
pub(super) fn lower(text: &SourceText<'_>, tree: &Expr<'_>) -> Lowered {
    let (slots, reads, problems) = (Vec::new(), Vec::new(), Vec::new());
    let mut writer = Writer { whole: text, out: String::new(), slots, reads, problems };
    writer.expression(tree, false);
    let Writer { out, slots, mut reads, problems, .. } = writer;
    let program = match (slots.as_slice(), reads.pop()) {
        _ if !problems.is_empty() => Err(Fault::failed("there are problems")),
        ([Slot::Read(..)], Some(read)) if out == "v0" => Ok(Program::Read(read)),
        ([Slot::Constant(value)], None) if out == "v0" => {
            from_value(value).map(|value| Program::Constant(value.into()))
        }
        (_, last) => {
            reads.extend(last);
            Compiled::new(out, slots, reads).map(|compiled| Program::Compiled(compiled.into()))
        }
    };
    Lowered { program, problems }
}

/// The result of [`lower`] for a plain path.
pub(super) fn lower_path(text: &SourceText<'_>, path: &[PathSegment], at: Range<usize>) -> Lowered {
    match text.read(path, at, false) {
        Ok(read) => Lowered { program: Ok(Program::Read(read)), problems: Vec::new() },
        Err(problem) => {
            let program = Err(Fault::failed("there are problems"));
            Lowered { program, problems: vec![problem] }
        }
    }
}

struct Writer<'a> {
    whole: &'a SourceText<'a>,
    out: String,
    slots: Vec<Slot>,
    reads: Vec<Reference>,
    problems: Vec<Unresolved>,
}

impl Writer<'_> {
    fn slot(&mut self, slot: Slot) {
        self.out.push_str(&format!("v{}", self.slots.len()));
        self.slots.push(slot);
    }

    fn constant(&mut self, value: impl Into<Value>) {
        self.slot(Slot::Constant(value.into()));
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn expression(&mut self, tree: &Expr<'_>, guarded: bool) {
        if let Some(segments) = path_of(tree) {
            return self.read(&segments, range_of(tree), guarded);
        }
        match tree {
            Expr::Const(constant) => self.constant(constant.value.clone()),
            Expr::List(list) => self.sequence(&list.items, guarded),
            Expr::Tuple(tuple) => self.sequence(&tuple.items, guarded),
            Expr::Map(map) => {
                self.text("{");
                for (key, value) in map.keys.iter().zip(&map.values) {
                    self.expression(key, guarded);
                    self.text(":");
                    self.expression(value, guarded);
                    self.text(",");
                }
                self.text("}");
            }
            Expr::UnaryOp(unary) => self.unary(&unary.op, &unary.expr, guarded),
            Expr::BinOp(binary) => self.binary(binary.op, &binary.left, &binary.right, guarded),
            Expr::Compare(chain) => {
                self.text("compare(");
                self.expression(&chain.expr, guarded);
                let mut left = &chain.expr;
                for next in &chain.ops {
                    self.problems.extend(unknown_words(self.whole, left, &next.expr));
                    left = &next.expr;
                    self.text(",");
                    self.constant(comparison_name(next.op));
                    self.text(",");
                    self.expression(&next.expr, guarded);
                }
                self.text(")");
            }
            Expr::IfExpr(choice) => {
                self.text("(");
                self.expression(&choice.true_expr, guarded);
                self.text(" if ");
                self.expression(&choice.test_expr, guarded);
                if let Some(otherwise) = &choice.false_expr {
                    self.text(" else ");
                    self.expression(otherwise, guarded);
                }
                self.text(")");
            }
            Expr::Filter(filter) => {
                let Some(input) = &filter.expr else { return };
                self.known(filter.name, FILTERS, "filter", range_of(tree));
                let guards = matches!(filter.name, "default" | "d");
                self.read_attribute(input, &filter.args, guarded);
                self.applied("|", filter.name, input, &filter.args, (guarded || guards, guarded));
            }
            Expr::Test(test) => {
                self.known(test.name, TESTS, "test", range_of(tree));
                let guards = matches!(test.name, "defined" | "undefined");
                self.applied(
                    " is ",
                    test.name,
                    &test.expr,
                    &test.args,
                    (guarded || guards, guarded),
                );
            }
            Expr::GetAttr(attribute) => {
                self.expression(&attribute.expr, guarded);
                self.text("[");
                self.constant(attribute.name);
                self.text("]");
            }
            Expr::GetItem(item) => {
                self.expression(&item.expr, guarded);
                self.text("[");
                self.expression(&item.subscript_expr, guarded);
                self.text("]");
            }
            Expr::Slice(slice) => {
                self.text("slice_of(");
                self.expression(&slice.expr, guarded);
                for bound in [&slice.start, &slice.stop, &slice.step] {
                    self.text(",");
                    match bound {
                        Some(bound) => self.expression(bound, guarded),
                        None => self.text("none"),
                    }
                }
                self.text(")");
            }
            Expr::Call(call) => self.call(call, range_of(tree), guarded),
            Expr::Var(_) => {}
        }
    }

    fn sequence(&mut self, items: &[Expr<'_>], guarded: bool) {
        self.text("[");
        for item in items {
            self.expression(item, guarded);
            self.text(",");
        }
        self.text("]");
    }

    fn unary(&mut self, operator: &UnaryOpKind, operand: &Expr<'_>, guarded: bool) {
        if let (UnaryOpKind::Not, Expr::BinOp(binary)) = (operator, operand)
            && matches!(binary.op, BinOpKind::In)
            && self.is_not_in(&binary.right)
        {
            return self.comparison("not in", &binary.left, &binary.right, guarded);
        }
        self.text(match operator {
            UnaryOpKind::Not => "(not ",
            UnaryOpKind::Neg => "negate(",
        });
        self.expression(operand, guarded);
        self.text(")");
    }

    /// Whether the text before the right operand is `not in`. The tree does not distinguish it from
    /// `not (a in b)`, which differs if an operand is undefined.
    fn is_not_in(&self, right: &Expr<'_>) -> bool {
        let before = self.whole.code[..start_of(right)]
            .trim_end_matches(|c: char| c == '(' || c.is_whitespace());
        before.strip_suffix("in").is_some_and(|before| before.trim_end().ends_with("not"))
    }

    fn binary(&mut self, operator: BinOpKind, left: &Expr<'_>, right: &Expr<'_>, guarded: bool) {
        let name = match operator {
            BinOpKind::Eq => return self.comparison("==", left, right, guarded),
            BinOpKind::Ne => return self.comparison("!=", left, right, guarded),
            BinOpKind::Lt => return self.comparison("<", left, right, guarded),
            BinOpKind::Lte => return self.comparison("<=", left, right, guarded),
            BinOpKind::Gt => return self.comparison(">", left, right, guarded),
            BinOpKind::Gte => return self.comparison(">=", left, right, guarded),
            BinOpKind::In => return self.comparison("in", left, right, guarded),
            BinOpKind::ScAnd => return self.logic(" and ", left, right, guarded),
            BinOpKind::ScOr => return self.logic(" or ", left, right, guarded),
            BinOpKind::Add => "add",
            BinOpKind::Sub => "subtract",
            BinOpKind::Mul => "multiply",
            BinOpKind::Div => "divide",
            BinOpKind::FloorDiv => "floor_divide",
            BinOpKind::Rem => "remainder",
            BinOpKind::Pow => "power",
            BinOpKind::Concat => "concat",
        };
        self.text(name);
        self.text("(");
        self.expression(left, guarded);
        self.text(",");
        self.expression(right, guarded);
        self.text(")");
    }

    fn comparison(
        &mut self,
        operator: &'static str,
        left: &Expr<'_>,
        right: &Expr<'_>,
        guarded: bool,
    ) {
        self.problems.extend(unknown_words(self.whole, left, right));
        self.text("compare(");
        let first = self.reads.len();
        self.expression(left, guarded);
        self.text(",");
        self.constant(operator);
        self.text(",");
        self.expression(right, guarded);
        self.text(")");
        let is_path = |side: &Expr<'_>| path_of(side).is_some();
        let is_compared = operator != "in" && operator != "not in";
        if is_compared && (is_path(left) && is_no_text(right) || is_path(right) && is_no_text(left))
        {
            self.reads[first..].iter_mut().for_each(|read| read.beside_number = true);
        }
    }

    fn logic(&mut self, operator: &str, left: &Expr<'_>, right: &Expr<'_>, guarded: bool) {
        self.text("(");
        self.expression(left, guarded);
        self.text(operator);
        self.expression(right, guarded);
        self.text(")");
    }

    /// A filter or test: `guarded.0` applies to its input, `guarded.1` to its arguments.
    fn applied(
        &mut self,
        sign: &str,
        name: &str,
        input: &Expr<'_>,
        args: &[CallArg<'_>],
        guarded: (bool, bool),
    ) {
        self.text("(");
        self.expression(input, guarded.0);
        self.text(sign);
        self.text(name);
        if !args.is_empty() {
            self.arguments(args, guarded.1);
        }
        self.text(")");
    }

    /// Records what `list | map(attribute='key')` reads of each element of a path, so that the key is checked.
    fn read_attribute(&mut self, input: &Expr<'_>, args: &[CallArg<'_>], guarded: bool) {
        let [CallArg::Kwarg("attribute", Expr::Const(name))] = args else { return };
        let (Some(mut path), Some(name)) = (path_of(input), name.value.as_str()) else { return };
        let at = range_of(input);
        let name = name.split('.').next().unwrap_or(name).into();
        path.extend(
            [Key::Index(0), Key::Name(name)].map(|key| PathSegment { key, at: at.clone() }),
        );
        // A path that cannot be read is reported where the list itself is.
        self.reads.extend(self.whole.read(&path, at, guarded).ok());
    }

    fn arguments(&mut self, args: &[CallArg<'_>], guarded: bool) {
        self.text("(");
        for arg in args {
            match arg {
                CallArg::Pos(value) => self.expression(value, guarded),
                CallArg::Kwarg(name, value) => {
                    self.text(name);
                    self.text("=");
                    self.expression(value, guarded);
                }
                CallArg::PosSplat(value) | CallArg::KwargSplat(value) => {
                    self.problem(
                        Code::BAD_EXPRESSION,
                        range_of(value),
                        "`*` and `**` arguments are not supported".to_owned(),
                        Some("write the arguments out".to_owned()),
                    );
                }
            }
            self.text(",");
        }
        self.text(")");
    }

    fn call(&mut self, call: &Call<'_>, at: Range<usize>, guarded: bool) {
        let (message, help) = match &call.expr {
            Expr::Var(function) if function.id == "range" => {
                self.text("range");
                return self.arguments(&call.args, guarded);
            }
            Expr::Var(function) => (
                format!("unknown function `{}`", function.id),
                if FILTERS.contains(&function.id) {
                    format!("it is a filter: write `value | {}`", function.id)
                } else {
                    "the only function is `range`; use a filter to change a value, as in `name | upper`"
                        .to_owned()
                },
            ),
            Expr::GetAttr(method) => (
                format!("values have no method `{}`", method.name),
                match method_filter(method.name) {
                    Some(filter) => format!("use the filter: `value | {filter}`"),
                    None => "use a filter, as in `name | upper`".to_owned(),
                },
            ),
            _ => (
                "only `range` can be called".to_owned(),
                "use a filter to change a value, as in `name | upper`".to_owned(),
            ),
        };
        self.problem(Code::UNKNOWN_FILTER, at, message, Some(help));
    }

    fn known(&mut self, name: &str, known: &[&str], what: &str, at: Range<usize>) {
        if known.contains(&name) {
            return;
        }
        let near = nearest(name, known.iter().copied());
        let help = match near.or_else(|| method_filter(name).filter(|own| known.contains(own))) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the {what}s are {}", known.join(", ")),
        };
        self.problem(Code::UNKNOWN_FILTER, at, format!("unknown {what} `{name}`"), Some(help));
    }

    fn problem(&mut self, code: Code, at: Range<usize>, message: String, help: Option<String>) {
        self.problems.push(Unresolved { at, code, message, help });
    }

    fn read(&mut self, segments: &[PathSegment], at: Range<usize>, guarded: bool) {
        match self.whole.read(segments, at.clone(), guarded) {
            Ok(read) => {
                self.slot(Slot::Read(self.reads.len(), at));
                self.reads.push(read);
            }
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// Whether a side of a comparison is a number, `true` or `false`.
fn is_no_text(side: &Expr<'_>) -> bool {
    let Expr::Const(constant) = side else { return false };
    matches!(constant.value.kind(), ValueKind::Number | ValueKind::Bool)
}

fn comparison_name(operator: CompareOpKind) -> &'static str {
    match operator {
        CompareOpKind::Eq => "==",
        CompareOpKind::Ne => "!=",
        CompareOpKind::Lt => "<",
        CompareOpKind::Lte => "<=",
        CompareOpKind::Gt => ">",
        CompareOpKind::Gte => ">=",
        CompareOpKind::In => "in",
        CompareOpKind::NotIn => "not in",
    }
}
