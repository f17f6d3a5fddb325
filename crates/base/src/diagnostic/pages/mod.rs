//! The pages that `kb explain CODE` shows, one per code, one file per subject.
//!
//! A page states the problem and its cause, shows a wrong and a fixed example where there is one, and
//! ends with the fix. `docs/diagnostics.md` is generated from these pages.

use super::code::Code;

/// Title and text of one code.
struct Page {
    code: Code,
    title: &'static str,
    text: &'static str,
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

        pub(super) static $table: &[super::Page] = &[
            $(super::Page {
                code: $crate::diagnostic::Code($code),
                title: $title,
                text: $text,
            },)*
        ];
    };
}

mod attempts;
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
mod triggers;
mod web;

impl Code {
    /// Finds a code by its text; case is ignored.
    pub fn find(text: &str) -> Option<Code> {
        all().map(|page| page.code).find(|code| code.0.eq_ignore_ascii_case(text))
    }

    /// A short title, a lower-case fragment.
    pub fn title(self) -> &'static str {
        page(self).title
    }

    /// The page that `kb explain` shows: the cause, an example and the fix.
    pub fn page(self) -> &'static str {
        page(self).text
    }

    /// All codes, grouped by subject.
    pub fn all() -> impl Iterator<Item = Code> {
        all().map(|page| page.code)
    }
}

fn all() -> impl Iterator<Item = &'static Page> {
    [
        files::TABLE,
        definitions::TABLE,
        expressions::TABLE,
        plans::TABLE,
        attempts::TABLE,
        outcomes::TABLE,
        tools::TABLE,
        models::TABLE,
        environment::TABLE,
        evidence::TABLE,
        requests::TABLE,
        later::TABLE,
        triggers::TABLE,
        web::TABLE,
    ]
    .into_iter()
    .flatten()
}

fn page(code: Code) -> &'static Page {
    static UNKNOWN: Page = Page { code: Code("KB0000"), title: "unknown code", text: "" };
    all().find(|page| page.code == code).unwrap_or(&UNKNOWN)
}
