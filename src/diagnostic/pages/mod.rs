//! The pages that `kb explain CODE` shows, one per code, one file per subject.
//!
//! A page states the problem and its cause, shows a wrong and a fixed example where there is one, and
//! ends with the fix. `docs/diagnostics.md` is generated from these pages.

use super::Code;

/// Title and text of one code.
pub(super) struct Page {
    pub(super) code: Code,
    pub(super) title: &'static str,
    pub(super) text: &'static str,
}

/// Declares the codes of one range: constants of [`Code`] and their pages.
macro_rules! pages {
    ($table:ident; $($name:ident = $code:literal, $title:literal, $text:literal;)*) => {
        impl $crate::diagnostic::Code {
            $(
                #[doc = concat!("`", $code, "`: ", $title, ".")]
                pub const $name: $crate::diagnostic::Code = $crate::diagnostic::Code($code);
            )*
        }

        pub(in crate::diagnostic) static $table: &[super::Page] = &[
            $(super::Page {
                code: $crate::diagnostic::Code($code),
                title: $title,
                text: $text,
            },)*
        ];
    };
}

mod definitions;
mod environment;
mod evidence;
mod expressions;
mod files;
mod later;
mod models;
mod outcomes;
mod plans;
mod requests;
mod tools;

pub(super) fn all() -> impl Iterator<Item = &'static Page> {
    [
        files::TABLE,
        definitions::TABLE,
        expressions::TABLE,
        plans::TABLE,
        outcomes::TABLE,
        tools::TABLE,
        models::TABLE,
        environment::TABLE,
        evidence::TABLE,
        requests::TABLE,
        later::TABLE,
    ]
    .into_iter()
    .flatten()
}

pub(super) fn page(code: Code) -> &'static Page {
    static UNKNOWN: Page = Page { code: Code("KB0000"), title: "unknown code", text: "" };
    all().find(|page| page.code == code).unwrap_or(&UNKNOWN)
}
