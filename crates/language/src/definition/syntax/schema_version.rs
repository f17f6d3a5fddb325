//! Checks the `schema:` key of a file.

use super::{Decoder, Fields};
use kb_base::diagnostic::{Code, Diagnostic};

impl Decoder {
    /// Checks that `schema:` is present and is the supported version.
    pub(crate) fn schema_version(&mut self, fields: &Fields<'_>, expected: &str, what: &str) {
        let Some((key, node)) = fields.entry("schema") else {
            self.push(
                Diagnostic::error(
                    Code::SCHEMA_VERSION,
                    fields.span,
                    format!("{what} has no `schema`"),
                )
                .help(format!(
                    "add `schema: {expected}` as the first line; `kb playbook import FILE` translates a file of another \
                     tool"
                )),
            );
            return;
        };
        let Some(text) = node.as_text() else {
            let found = Diagnostic::error(Code::SCHEMA_VERSION, key.span, "`schema` is not a text");
            self.push(found.help(format!("write `schema: {expected}`")));
            return;
        };
        if text == expected {
            return;
        }
        let family = |text: &str| {
            text.split_once('/')
                .map(|(family, version)| (family.to_owned(), version.parse::<u32>().ok()))
        };
        let (own, _) = family(expected).unwrap_or_default();
        let found = match family(text) {
            Some((other, Some(version))) if other == own && version > 1 => Diagnostic::error(
                Code::SCHEMA_VERSION,
                node.span,
                format!("`{text}` is not supported by this version of `kb`"),
            )
            .help(format!("update `kb`, or write `{expected}`")),
            Some((other, Some(1)))
                if matches!(other.as_str(), "kb.playbook" | "kb.specialist" | "kb.script") =>
            {
                Diagnostic::error(
                    Code::BAD_DEFINITION,
                    node.span,
                    format!("`{text}` is not {what}"),
                )
                .help(format!(
                    "move the file to the folder for such definitions, or write `{expected}`"
                ))
            }
            _ => Diagnostic::error(
                Code::SCHEMA_VERSION,
                node.span,
                format!("unknown schema `{text}`"),
            )
            .help(format!("write `{expected}`")),
        };
        self.push(found);
    }
}
