//! Turns errors of the YAML parser into diagnostics with a suggested fix.

use granit_parser::{ErrorKind, ScanError};
use kb_base::diagnostic::{Code, Diagnostic, SourceId, Span};
use std::ops::Range;

/// Turns a parser error into a diagnostic, with a fix for the usual causes.
pub(crate) fn describe(error: &ScanError, text: &str, base: usize, source: SourceId) -> Diagnostic {
    let at = floor(text, error.marker().byte_offset().unwrap_or(0));
    if let Some(found) = unquoted_placeholder(text, at) {
        return quote_it(text, found, base, source);
    }
    let at = match error.kind() {
        ErrorKind::UnclosedQuotedScalar
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::DocumentIndicatorInQuotedScalar => opening_quote(text, at).unwrap_or(at),
        kind if is_about_tab(kind) => tab(text, at).unwrap_or(at),
        _ => at,
    };
    let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
    let span = Span::new(source, base + at, base + end);
    let (message, help) = explain(error, text, at);
    let code = match error.kind() {
        ErrorKind::RecursionLimitExceeded => Code::TOO_LARGE,
        _ => Code::INVALID_YAML,
    };
    let diagnostic = Diagnostic::error(code, span, message);
    match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// Whether a line is the key of a shell script, with its value.
fn starts_script(line: &str) -> bool {
    line.trim_start().trim_start_matches("- ").starts_with("run:")
}

/// Whether a `:` ends the first key of its line, which begins deeper than the keys before it.
fn is_first_colon(text: &str, at: usize) -> bool {
    let before = &text[line_range(text, at).start..at.min(text.len())];
    let key = before.trim_start();
    !key.is_empty() && key.len() < before.len() && key.chars().all(|c| c.is_ascii_alphanumeric())
}

fn explain(error: &ScanError, text: &str, at: usize) -> (String, Option<String>) {
    let line = &text[line_range(text, at)];
    let (message, help): (&str, &str) = match error.kind() {
        kind if is_about_tab(kind) => ("a tab where YAML requires spaces", "indent with spaces"),
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            return ("text after a closing quote".to_owned(), Some(after_quote(line)));
        }
        ErrorKind::MappingValueNotAllowed if is_first_colon(text, at) => (
            "a key where none can stand",
            "check the indentation: keys of one map begin at the same column",
        ),
        ErrorKind::MappingValueNotAllowed if starts_script(line) => (
            "unexpected `:`",
            "write the script as a block: `run: |`, and the command indented on the next line",
        ),
        ErrorKind::MappingValueNotAllowed => (
            "unexpected `:`",
            "quote a text that contains `: `, and check the indentation of this line",
        ),
        ErrorKind::InvalidColonPlacement => {
            ("unexpected `:`", "close the `[` or `{` before it, or quote a text that contains `: `")
        }
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => {
            let message = format!(
                "the control character `{}` is not allowed here",
                character.escape_default()
            );
            return (
                message,
                Some("remove it, or write it as an escape in double quotes".to_owned()),
            );
        }
        ErrorKind::UnexpectedCharacter { character } => {
            let message =
                format!("a plain text cannot start with `{}`", character.escape_default());
            return (message, Some("put the text into quotes".to_owned()));
        }
        ErrorKind::UnclosedQuotedScalar
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::DocumentIndicatorInQuotedScalar => {
            ("a quoted text is not closed", "close it; write `''` for a quote inside single quotes")
        }
        ErrorKind::UnclosedFlowCollection { open } => {
            return (
                format!("`{open}` is never closed"),
                Some(format!("close it with `{}`", closing(*open))),
            );
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            let message = format!("`{open}` is closed with `{close}`");
            return (message, Some(format!("close it with `{}`", closing(*open))));
        }
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator => (
            "expected `,` or `]` in a list",
            "close the list with `]`, or quote an item that contains `: ` or `[`",
        ),
        ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::UnexpectedEofImplicitFlowMapping => (
            "expected `,` or `}` in a map",
            "close the map with `}`, or quote a text that contains `{` or `,`",
        ),
        ErrorKind::UnknownAnchor => {
            ("an alias without an anchor", "quote a text that starts with `*`")
        }
        ErrorKind::UnknownQuotedScalarEscape => (
            "an unknown escape in double quotes",
            "write `\\\\` for a backslash, or use single quotes, which have no escapes",
        ),
        ErrorKind::BlockSequenceEntryNotAllowed => {
            ("unexpected list item", "start the list on a line of its own, indented under its key")
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::ExpectedBlockSequenceEntry => (
            "this line belongs to neither the enclosing map nor the enclosing list",
            "indent it like the lines before it; quote a text that starts with `[`, `{` or a quote",
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => (
            "a line without `:` in a map",
            "write `key: value`; put a text of several lines after `|`",
        ),
        ErrorKind::ExpectedDocumentStart | ErrorKind::InvalidIndentation => (
            "this line is indented less than the lines before it",
            "give all keys of a map the same indentation",
        ),
        ErrorKind::RecursionLimitExceeded => ("nested too deeply", "nest less deeply"),
        _ => return (error.info(), None),
    };
    (message.to_owned(), Some(help.to_owned()))
}

fn closing(open: char) -> char {
    if open == '[' { ']' } else { '}' }
}

/// The fix for text after a quoted scalar; for a union of quoted words it shows the accepted spelling.
fn after_quote(line: &str) -> String {
    let line = line.trim();
    let (key, value) = line.split_once(": ").unwrap_or(("", line));
    let value = value.split(" #").next().unwrap_or(value).trim();
    let words: Vec<&str> =
        value.split('|').map(|word| word.trim().trim_matches(['\'', '"'])).collect();
    let is_word = |word: &&str| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    if words.len() > 1 && words.iter().all(is_word) {
        let union = words.join(" | ");
        return format!("YAML takes no text after a quote; write `{key}: {union}`");
    }
    "quote the whole value; write `''` for a quote inside single quotes".to_owned()
}

/// An unquoted value that starts with `{{` on the line of that byte, at or before it.
pub(crate) fn unquoted_placeholder(text: &str, at: usize) -> Option<Range<usize>> {
    let line = line_range(text, floor(text, at));
    let content = &text[line.clone()];
    let start = content.match_indices("{{").map(|(i, _)| i).find(|&i| {
        let before = content[..i].trim_end();
        before.ends_with(':') || before.ends_with('-') || before.ends_with([',', '['])
    })?;
    let rest = content[start..].trim_end();
    let value = if content[..start].contains(['{', '[']) {
        &rest[..rest.find("}}").map_or(rest.len(), |end| end + 2)]
    } else {
        rest.split(" #").next().unwrap_or(rest).trim_end()
    };
    Some(line.start + start..line.start + start + value.len())
}

/// The diagnostic for [`unquoted_placeholder`].
pub(crate) fn quote_it(
    text: &str,
    found: Range<usize>,
    base: usize,
    source: SourceId,
) -> Diagnostic {
    let value = &text[found.clone()];
    let quoted = if value.contains('"') { format!("'{value}'") } else { format!("\"{value}\"") };
    let span = Span::new(source, base + found.start, base + found.end);
    Diagnostic::error(Code::UNQUOTED_PLACEHOLDER, span, "a placeholder without quotes")
        .help(format!("quote it: `{quoted}`"))
}

fn is_about_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabNotAllowed
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar
    )
}

/// Finds the tab that an error is about: in the indentation of its line, at the position, or after it.
fn tab(text: &str, at: usize) -> Option<usize> {
    let line = line_range(text, at);
    let indented = text[line.start..].find(|c: char| c != ' ').map(|i| line.start + i);
    let is_tab = |at: &usize| text[*at..].starts_with('\t');
    let here = Some(at).filter(is_tab).or(indented.filter(is_tab));
    here.or_else(|| text[at..].find('\t').map(|i| at + i))
}

/// Finds the quote that is still open at byte `at`: on the nearest line before it with an odd number
/// of one kind of quote, one of which starts a value.
fn opening_quote(text: &str, at: usize) -> Option<usize> {
    const LINES: usize = 50;
    let mut end = at;
    for _ in 0..LINES {
        let line = line_range(text, end);
        let content = &text[line.start..end.max(line.start)];
        for quote in ['"', '\''] {
            let starts = content.match_indices(quote).map(|(i, _)| i).find(|&i| {
                let before = content[..i].trim_end();
                before.is_empty() || before.ends_with([':', '-', '[', ',', '{'])
            });
            if let Some(i) = starts.filter(|_| content.matches(quote).count() % 2 == 1) {
                return Some(line.start + i);
            }
        }
        end = line.start.checked_sub(1)?;
    }
    None
}

fn line_range(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    let end = text[at..].find('\n').map_or(text.len(), |i| at + i);
    start..end
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
