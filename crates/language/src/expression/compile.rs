//! Compiles the text of one expression to a program with its references, or reports all problems.

use super::brackets::end_of_quotes;
use super::lower::{lower, lower_path};
use super::path::plain_path;
use super::program::Program;
use super::source_text::SourceText;
use super::syntax_error::syntax_problem;
use kb_base::diagnostic::{Code, Diagnostic};
use minijinja::machinery::ast::Expr;
use minijinja::machinery::{parse_expr, tokenize};
use minijinja::syntax::SyntaxConfig;
use std::ops::Range;

/// Maximum length of an expression in bytes.
const EXPRESSION_BYTES: usize = 4096;
/// Maximum number of operators, keys and brackets of an expression. They limit the depth of the syntax
/// tree, which minijinja walks recursively; minijinja itself limits only brackets.
const OPERATORS: usize = 500;

/// Parses, resolves and compiles.
pub(super) fn compile(text: &SourceText<'_>) -> Result<Program, Vec<Diagnostic>> {
    let whole = 0..text.code.len();
    if text.code.len() > EXPRESSION_BYTES || operators(text.code) > OPERATORS {
        let message = format!(
            "the expression has more than {EXPRESSION_BYTES} bytes or {OPERATORS} operators"
        );
        return Err(vec![
            Diagnostic::error(Code::EXPRESSION_TOO_LONG, text.span(whole), message)
                .help("compute parts of it in a `set` step"),
        ]);
    }
    if text.code.trim().is_empty() {
        let message = "the expression is empty";
        return Err(vec![
            Diagnostic::error(Code::BAD_EXPRESSION, text.span(whole), message)
                .help("write a condition, as in `test.output.testResult == 'failed'`"),
        ]);
    }
    let dashed = dashed_steps(text);
    if !dashed.is_empty() {
        return Err(dashed);
    }
    let lowered = match plain_path(text.code) {
        Some((path, at)) => lower_path(text, &path, at),
        None => {
            let tree = parse(text.code)
                .map_err(|error| vec![text.unresolved(syntax_problem(text.code, &error))])?;
            lower(text, &tree)
        }
    };
    if !lowered.problems.is_empty() {
        return Err(lowered.problems.into_iter().map(|p| text.unresolved(p)).collect());
    }
    lowered.program.map_err(|fault| {
        let message = format!("not a valid expression: {fault}");
        vec![Diagnostic::error(Code::BAD_EXPRESSION, text.span(whole), message)]
    })
}

/// The syntax tree of minijinja. All tokens are read first, because its parser drops a lexer error after
/// a string together with the rest of the text: `a == 'b' && c` would become `a == 'b'`.
fn parse(code: &str) -> Result<Expr<'_>, minijinja::Error> {
    tokenize(code, true, SyntaxConfig::default()).try_for_each(|token| token.map(|_| ()))?;
    parse_expr(code)
}

/// Number of punctuation characters and operator words outside quoted strings.
fn operators(code: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(next) = code[at..].chars().next() {
        if matches!(next, '\'' | '"') {
            at = end_of_quotes(code, at).unwrap_or(code.len());
            continue;
        }
        count += usize::from(next.is_ascii_punctuation() && next != '_');
        at += next.len_utf8();
    }
    let word = |word: &&str| matches!(*word, "and" | "or" | "not" | "in" | "is" | "if" | "else");
    count + code.split_whitespace().filter(word).count()
}

/// Step ids with a `-` that are written as bare names and would be read as subtractions.
fn dashed_steps(text: &SourceText<'_>) -> Vec<Diagnostic> {
    if !text.code.contains('-') {
        return Vec::new();
    }
    words(text.code)
        .into_iter()
        .filter_map(|word| {
            let written = &text.code[word.clone()];
            let id = text.names.steps.get(written).filter(|id| id.as_str().contains('-'))?;
            let short = id.as_str().replace('-', "_");
            let message = format!("`{id}` would be read as a subtraction");
            let help = format!("write `steps['{id}']` or `{short}`");
            Some(Diagnostic::error(Code::DASHED_NAME, text.span(word), message).help(help))
        })
        .collect()
}

/// The bare names of an expression, including dashes, without keys and quoted strings.
fn words(code: &str) -> Vec<Range<usize>> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(next) = code[at..].chars().next() {
        if matches!(next, '\'' | '"') {
            at = end_of_quotes(code, at).unwrap_or(code.len());
        } else if next.is_ascii_alphanumeric() || next == '_' {
            let end = code[at..].find(|c| !is_inner(c)).map_or(code.len(), |i| at + i);
            if !code[..at].trim_end().ends_with('.') {
                found.push(at..end);
            }
            at = end;
        } else {
            at += next.len_utf8();
        }
    }
    found
}
