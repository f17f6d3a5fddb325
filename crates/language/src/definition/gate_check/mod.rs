//! The checks of gates: one module a kind, with its keys, its decoder, its static rules, and the
//! references that it reads.
//!
//! Start at [`Check`]. A new kind is a module with a [`CheckKind`] and a line in `checks!`; `verify::check`
//! has its verdict.

mod command;
mod diff;
mod expr;
mod file;
mod judge;
mod schema;
mod spec;

pub use command::{CommandCheck, TestRequirement};
pub use diff::DiffCheck;
pub use file::{FileCheck, FileCount};
pub use judge::JudgeCheck;

use super::keys::{KeyRule, KeySpec, KeyTable, table};
use super::schema::Schema;
use super::syntax::{Decoder, Fields, Node};
use crate::expression::{Expression, Reference};
use kb_base::diagnostic::{Code, Diagnostic};
use spec::CheckKind;

/// Declares [`Check`] and everything that has one entry per kind.
macro_rules! checks {
    ($($(#[$doc:meta])* $variant:ident($ty:ty),)+) => {
        /// One check of a gate.
        #[derive(Debug, Clone)]
        pub enum Check {
            $($(#[$doc])* $variant($ty),)+
        }

        impl Check {
            /// The key that names the kind of the check, such as `file`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Check::$variant(_) => <$ty as CheckKind>::NAME,)+
                }
            }

            /// Whether the check starts a command.
            pub fn is_command(&self) -> bool {
                matches!(self, Check::Command(_))
            }

            /// The texts of the check, each with the references that it reads.
            pub fn references(&self) -> Vec<Vec<&Reference>> {
                match self {
                    $(Check::$variant(check) => CheckKind::references(check),)+
                }
            }

            /// Whether the verdict depends on the recorded file changes of the step.
            pub fn reads_changes(&self) -> bool {
                match self {
                    $(Check::$variant(check) => check.reads_changes(),)+
                }
            }

            /// The key because of which the check needs a step that does work, if it does.
            fn needs_work(&self) -> Option<&'static str> {
                match self {
                    $(Check::$variant(check) => check.needs_work(),)+
                }
            }
        }

        /// The keys of which a check has exactly one, in the order in which messages list them.
        const NAMES: &[&str] = &[$(<$ty as CheckKind>::NAME),+];

        /// The keys of all kinds.
        const KEYS: &[&[KeySpec]] = &[$(<$ty as CheckKind>::KEYS),+];

        /// The decoders, in the order of [`NAMES`].
        const DECODERS: &[Decode] = &[$(
            |node, fields, decoder| {
                <$ty as CheckKind>::decode(node, fields, decoder).map(Check::$variant)
            }
        ),+];
    };
}

checks! {
    /// The output of the step satisfies this schema.
    Schema(Schema),
    /// Files exist, or do not exist.
    File(FileCheck),
    /// A command exits with status 0.
    Command(CommandCheck),
    /// An expression is true.
    Expr(Expression),
    /// Which files may change.
    Diff(DiffCheck),
    /// A model reviews the output.
    Judge(JudgeCheck),
}

/// The keys of a check.
pub(super) static CHECK: KeyTable =
    table("check", "a check", "One check of a gate.", KEYS).rule(KeyRule::ExactlyOne(NAMES));

/// Decodes a list of checks: `verify.checks` or `gate`.
pub(crate) fn checks(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<Check> {
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
    let mut found = Vec::new();
    for item in items {
        let Some(check) = check(item, decoder) else { continue };
        if let Some(needed) = check.needs_work().filter(|_| key == "gate") {
            let message =
                format!("`{needed}` is about the work of its step, and a `gate` step does none");
            decoder.push(
                Diagnostic::error(Code::MISPLACED_KEY, item.span, message)
                    .help("write it in `verify.checks` of the step that does the work"),
            );
        }
        found.push(check);
    }
    found
}

fn check(node: &Node, decoder: &mut Decoder) -> Option<Check> {
    if let Some(text) = node.as_text() {
        let help =
            format!("a command is `{{command: [sh, -c, {text:?}]}}`, a file is `{{file: PATH}}`");
        let message = "a check takes a map, found a text";
        decoder.push(Diagnostic::error(Code::WRONG_TYPE, node.span, message).help(help));
        return None;
    }
    let fields = decoder.fields(node, &CHECK)?;
    let (kind, decode) = kind(&fields, decoder)?;
    for (spec, key, _) in fields.iter() {
        if !spec.only.is_empty() && !spec.only.contains(&kind) {
            let message =
                format!("`{}` belongs to a `{}` check", spec.name, spec.only.join("` or `"));
            decoder
                .push(Diagnostic::error(Code::MISPLACED_KEY, key.span, message).help("remove it"));
        }
    }
    decoder.unsupported(&fields);
    let value = decoder.required(&fields, kind)?;
    decode(value, &fields, decoder)
}

type Decode = fn(&Node, &Fields<'_>, &mut Decoder) -> Option<Check>;

/// The one kind of a check, with its decoder; none or two is an error.
fn kind(fields: &Fields<'_>, decoder: &mut Decoder) -> Option<(&'static str, Decode)> {
    let kinds = NAMES.iter().copied().zip(DECODERS.iter().copied());
    let present: Vec<_> = kinds.filter(|(name, _)| fields.entry(name).is_some()).collect();
    match present.as_slice() {
        [kind] => Some(*kind),
        [] if fields.was_meant(NAMES) || fields.has_unknown() => None,
        [] => {
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, fields.span, "a check has no kind")
                    .help(format!("add one of {}", NAMES.join(", "))),
            );
            None
        }
        [(first, _), (second, _), ..] => {
            let message = format!("a check has both `{first}` and `{second}`");
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, fields.span, message).help("write two checks"),
            );
            None
        }
    }
}
