//! Expressions such as conditions: parsed once, evaluated any number of times.

use super::compile::compile;
use super::names::{Names, Origin, Style};
use super::program::{Program, is_true, read};
use super::reference::{Reference, Root};
use super::scan::{Form, Mode, Piece, Scanner};
use super::scope::{EvalError, Scope};
use super::source_text::SourceText;
use kb_base::diagnostic::{Diagnostic, Span};
use kb_base::value::Json;
use std::ops::Range;
use std::sync::Arc;

/// A condition or other expression, parsed and resolved.
#[derive(Debug, Clone)]
pub struct Expression(Arc<Parsed>);

#[derive(Debug)]
struct Parsed {
    source: String,
    span: Span,
    program: Program,
}

impl Expression {
    /// Parses an expression and resolves its names. Placeholder brackets act as parentheses. The error
    /// contains all problems.
    pub fn parse(
        source: &str,
        origin: Origin,
        names: &Names,
        style: Style,
    ) -> Result<Expression, Vec<Diagnostic>> {
        let (pieces, problems) = Scanner::new(source, names, style, Mode::Code).scan();
        let (code, braces) = as_parentheses(source, &pieces);
        let text = SourceText { code: &code, base: 0, origin, names, braces: &braces };
        if !problems.is_empty() {
            return Err(problems.into_iter().map(|problem| text.diagnostic_of(problem)).collect());
        }
        let program = compile(&text)?;
        let (source, span) = (source.to_owned(), origin.span);
        Ok(Expression(Arc::new(Parsed { source, span, program })))
    }

    /// The text as written.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The position in the file.
    pub fn span(&self) -> Span {
        self.0.span
    }

    /// All references to names.
    pub fn references(&self) -> &[Reference] {
        self.0.program.references()
    }

    /// Evaluates to a value; undefined becomes `false`.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Json, EvalError> {
        let value = self.0.program.value(scope).map_err(|fault| fault.in_text(self.source()))?;
        Ok(value.unwrap_or(Json::Bool(false)))
    }

    /// Evaluates to a boolean. Null, false, 0, empty and undefined values are false; all others true.
    pub fn truth(&self, scope: &dyn Scope) -> Result<bool, EvalError> {
        let truth = self.0.program.with(scope, is_true);
        Ok(truth.map_err(|fault| fault.in_text(self.source()))?.unwrap_or(false))
    }

    /// The text with the values that it reads in place of their names, such as `1 > 5`. A name stays where its
    /// value is long or a secret; a text that is one name is the value.
    pub fn with_values(&self, scope: &dyn Scope) -> String {
        if let Program::Read(reference) = &self.0.program
            && !matches!(reference.root, Root::Secret(_))
        {
            return shown(read(reference, scope, Json::clone))
                .unwrap_or_else(|| self.0.source.clone());
        }
        let (source, mut text) = (self.source(), String::new());
        let mut reads = self.0.program.reads(scope);
        reads.sort_by_key(|(range, _)| range.start);
        let mut at = 0;
        for (range, value) in reads {
            let Some(value) = shown(value) else { continue };
            let range = with_brackets(source, range);
            text.push_str(&source[at..range.start.max(at)]);
            text.push_str(&value);
            at = range.end.max(at);
        }
        text.push_str(&source[at..]);
        text
    }
}

/// The most characters of a value in the place of its name.
const SHOWN: usize = 60;

fn shown(value: Option<Json>) -> Option<String> {
    let text = value.map_or_else(|| "undefined".to_owned(), |value| value.to_string());
    (text.chars().count() <= SHOWN).then_some(text)
}

/// The range with the brackets of a placeholder that contains nothing else.
fn with_brackets(source: &str, range: Range<usize>) -> Range<usize> {
    let (before, after) = (source[..range.start].trim_end(), source[range.end..].trim_start());
    let pairs = [("{{", "}}"), ("<<", ">>"), ("{", "}")];
    match pairs.iter().find(|(open, close)| before.ends_with(open) && after.starts_with(close)) {
        Some((open, close)) => before.len() - open.len()..source.len() - after.len() + close.len(),
        None => range,
    }
}

/// The text with parentheses instead of placeholder brackets, of the same length, and the ranges in single
/// braces. In these, `-` becomes `_`, because they contain no subtraction.
fn as_parentheses(source: &str, pieces: &[Piece]) -> (String, Vec<Range<usize>>) {
    let (mut code, mut braces, mut at) = (String::with_capacity(source.len()), Vec::new(), 0);
    for piece in pieces {
        let Piece::Placeholder(found) = piece else { continue };
        code.push_str(&source[at..found.outer.start]);
        let inner = &source[found.inner.clone()];
        match found.form {
            Form::Single => {
                braces.push(found.inner.clone());
                code.push_str(&format!("({})", inner.replace('-', "_")));
            }
            Form::Double | Form::Angle => code.push_str(&format!(" ({inner}) ")),
        }
        at = found.outer.end;
    }
    code.push_str(&source[at..]);
    (code, braces)
}
