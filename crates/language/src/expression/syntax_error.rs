//! Diagnostics of invalid expressions, including operators of other languages.

use super::brackets::end_of_quotes;
use super::resolve::Unresolved;
use kb_base::diagnostic::Code;
use std::ops::Range;

/// Operators of other languages, longest first, with their replacement.
const FOREIGN: &[(&str, &str)] = &[
    ("===", "compare with `==`; comparison is always typed"),
    ("!==", "compare with `!=`; comparison is always typed"),
    ("&&", "write `and`"),
    ("||", "write `or`"),
    ("${", "write the bare name, or `{{ name }}`"),
    (
        "=~",
        "regular expressions are not supported; use `'text' in value` or `is startingwith(...)`",
    ),
    ("<>", "write `!=`"),
    ("=>", "write `>=`"),
    ("=<", "write `<=`"),
    ("?", "write `a if condition else b`"),
    ("$", "write the bare name, or `env.NAME`"),
    ("!", "write `not`"),
    ("=", "compare with `==`"),
    (";", "an expression has no `;`"),
    ("`", "quote strings with `'` or `\""),
    ("“", "write straight quotes: `'` or `\"`"),
    ("”", "write straight quotes: `'` or `\"`"),
    ("‘", "write straight quotes: `'` or `\"`"),
    ("’", "write straight quotes: `'` or `\"`"),
    ("{%", "statements are not supported; write `a if condition else b`"),
];

/// Operators of the language that contain one of another language.
const OWN: &[&str] = &["==", "!=", "<=", ">="];

/// The problem of a text that minijinja does not accept.
pub(super) fn syntax_problem(code: &str, error: &minijinja::Error) -> Unresolved {
    let problem =
        |at, message: String, help| Unresolved { at, code: Code::BAD_EXPRESSION, message, help };
    if let Some(open) = open_quote(code) {
        let help = "close the quote; to write an apostrophe, use the other kind of quotes";
        let message = "the string is not closed".to_owned();
        return problem(open..code.len(), message, Some(help.to_owned()));
    }
    if let Some((at, help)) = foreign(code) {
        let message = format!("`{}` is not an operator of expressions", &code[at.clone()]);
        return problem(at, message, Some(help.to_owned()));
    }
    let end = code.trim_end().len();
    let at = error.range().map_or(0..end, |at| clamp(code, at));
    let detail = error.detail().unwrap_or("it cannot be parsed");
    problem(at, format!("not a valid expression: {detail}"), help_of(code, detail))
}

fn help_of(code: &str, detail: &str) -> Option<String> {
    let count = |c: char| code.matches(c).count();
    if count('(') > count(')') || count('[') > count(']') {
        return Some("a bracket is not closed".to_owned());
    }
    if detail.contains("unexpected end of input") {
        return Some("something is missing at the end".to_owned());
    }
    if detail.contains("recursion") {
        return Some("compute parts of it in a `set` step".to_owned());
    }
    let is_bare_words = detail.contains("unexpected input")
        && code.split_whitespace().count() > 1
        && code.chars().all(|c| c.is_alphanumeric() || c.is_whitespace() || "._,-".contains(c));
    is_bare_words.then(|| "quote strings, and put an operator between two names".to_owned())
}

/// The first operator of another language outside quoted strings.
fn foreign(code: &str) -> Option<(Range<usize>, &'static str)> {
    let mut at = 0;
    while let Some(next) = code[at..].chars().next() {
        let rest = &code[at..];
        if matches!(next, '\'' | '"') {
            at = end_of_quotes(code, at)?;
            continue;
        }
        if let Some((spelling, help)) = FOREIGN.iter().find(|(spelling, _)| {
            rest.starts_with(spelling)
                && !(spelling.len() < 3 && OWN.iter().any(|own| rest.starts_with(own)))
        }) && !is_keyword_argument(code, at)
        {
            return Some((at..at + spelling.len(), help));
        }
        let own = OWN.iter().find(|own| rest.starts_with(**own));
        at += own.map_or(next.len_utf8(), |own| own.len());
    }
    None
}

/// Whether a `=` is part of a named argument such as `join(attribute='x')`.
fn is_keyword_argument(code: &str, at: usize) -> bool {
    let before = code[..at].trim_end();
    let name = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    code[at..].starts_with('=')
        && name.len() < before.len()
        && name.trim_end().ends_with(['(', ','])
}

fn open_quote(code: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = code[at..].find(['\'', '"']).map(|i| at + i) {
        match end_of_quotes(code, next) {
            Some(end) => at = end,
            None => return Some(next),
        }
    }
    None
}

fn clamp(code: &str, at: Range<usize>) -> Range<usize> {
    let floor = |mut i: usize| {
        i = i.min(code.len());
        while !code.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    let start = floor(at.start);
    start..floor(at.end).max(start)
}
