//! Static rule: regular expressions and globs compile.

use crate::definition::syntax::{Decoder, Node, Secrets};
use crate::expression::Template;
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{Glob, one_line};

/// Maximum number of characters of a glob in a message.
const SHOWN: usize = 200;

/// Checks that a regular expression compiles within the size limit.
pub(crate) fn regex(text: &str, span: Span, decoder: &mut Decoder) {
    if let Err(error) = regex::RegexBuilder::new(text).size_limit(1 << 20).build() {
        let reason = error.to_string();
        let reason =
            reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        decoder.push(
            Diagnostic::error(Code::INVALID_PATTERN, span, format!("`{text}` is not a regular expression: {reason}"))
                .help("escape `( ) [ ] { } . * + ? ^ $ |` and `\\` with a backslash to match them literally"),
        );
    }
}

/// Checks that a glob compiles.
pub(crate) fn glob(text: &str, span: Span, decoder: &mut Decoder) {
    if let Err(why) = Glob::of_paths(text) {
        let message = format!("`{}` is not a glob: {why}", one_line(text, SHOWN));
        decoder.push(
            Diagnostic::error(Code::INVALID_PATTERN, span, message)
                .help("globs support `*`, `**`, `?`, `[ab]` and `{a,b}`"),
        );
    }
}

/// Checks that a glob compiles and stays in the project; `!` before it is permitted.
pub(crate) fn project_glob(text: &str, span: Span, decoder: &mut Decoder) {
    let path = text.strip_prefix('!').unwrap_or(text);
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        let message = format!("`{}` is outside of the project", one_line(text, SHOWN));
        let help = "write a path relative to the project root".to_owned();
        return decoder.bad_value(span, message, help);
    }
    glob(path, span, decoder);
}

/// Decodes globs of project files, one or a list, which can contain placeholders. Those without are checked.
pub(crate) fn project_globs(
    node: &Node,
    key: &str,
    decoder: &mut Decoder,
) -> Option<Vec<Template>> {
    let mut found = Vec::new();
    for item in decoder.list(node, key) {
        let template = decoder.template(item, key, Secrets::Refused)?;
        if let Some(text) = template.as_literal() {
            project_glob(text, item.span, decoder);
        }
        found.push(template);
    }
    Some(found)
}

/// Decodes the globs of a key that takes one or a list.
pub(crate) fn globs(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<String> {
    let mut found = Vec::new();
    for item in decoder.list(node, key) {
        if let Some(text) = decoder.text(item, key) {
            glob(text, item.span, decoder);
            found.push(text.to_owned());
        }
    }
    found
}
