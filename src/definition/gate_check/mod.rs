//! The kinds of checks: one module each, with its decoding and its static rules.
//!
//! Start at [`CheckKind`] and [`CHECKS`]. A new check is a module with a [`CheckKind`], an entry in
//! [`CHECKS`], its keys in `keys::checks`, and a variant of [`Check`].

mod command;
mod diff;
mod expr;
mod file;
mod judge;
mod schema;
mod spec;

use super::keys;
use super::model::{Check, NotYet};
use super::syntax::{Decoder, Fields, Node};
use crate::diagnostic::{Code, Diagnostic};
use spec::CheckKind;

/// All kinds, in the order in which messages list them.
static CHECKS: [&CheckKind; 6] =
    [&schema::SCHEMA, &file::FILE, &command::COMMAND, &expr::EXPR, &diff::DIFF, &judge::JUDGE];

/// Decodes a list of checks: `verify.checks` or `gate`.
pub(crate) fn checks(
    node: &Node,
    key: &str,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Vec<Check> {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, key, "a list of checks");
        return Vec::new();
    };
    if items.is_empty() {
        decoder.push(
            Diagnostic::warning(Code::NO_EFFECT, node.span, format!("`{key}` is empty"))
                .help("add a check such as `{file: out.txt}`, or remove the key"),
        );
    }
    items.iter().filter_map(|item| check(item, decoder, not_yet)).collect()
}

fn check(node: &Node, decoder: &mut Decoder, not_yet: &mut Vec<NotYet>) -> Option<Check> {
    let fields = decoder.fields(node, &keys::checks::CHECK)?;
    let kind = kind(&fields, decoder)?;
    for (spec, key, _) in fields.iter() {
        if !spec.only.is_empty() && !spec.only.contains(&kind.key) {
            let message =
                format!("`{}` belongs to a `{}` check", spec.name, spec.only.join("` or `"));
            decoder
                .push(Diagnostic::error(Code::MISPLACED_KEY, key.span, message).help("remove it"));
        }
    }
    decoder.unsupported_keys(&fields, not_yet);
    let value = decoder.required(&fields, kind.key)?;
    (kind.decode)(value, &fields, decoder)
}

/// The one kind of a check; none or two is an error.
fn kind(fields: &Fields<'_>, decoder: &mut Decoder) -> Option<&'static CheckKind> {
    let names = keys::checks::CHECK_NAMES;
    let present: Vec<_> =
        CHECKS.into_iter().filter(|kind| fields.entry(kind.key).is_some()).collect();
    match present.as_slice() {
        [kind] => Some(kind),
        [] if fields.was_meant(names) => None,
        [] => {
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, fields.span, "a check has no kind")
                    .help(format!("add one of {}", names.join(", "))),
            );
            None
        }
        [first, second, ..] => {
            let message = format!("a check has both `{}` and `{}`", first.key, second.key);
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, fields.span, message).help("write two checks"),
            );
            None
        }
    }
}
