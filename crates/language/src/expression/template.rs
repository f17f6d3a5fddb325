//! Templates: texts and values with placeholders.

use super::compile::compile;
use super::fault::Fault;
use super::keys::Keys;
use super::names::{Names, Origin, Style};
use super::program::{Program, read};
use super::reference::{Reference, Root};
use super::scan::{Form, Mode, Piece, PlaceholderSpan, Scanner};
use super::scope::{EvalError, Scope};
use super::source_text::SourceText;
use kb_base::diagnostic::Diagnostic;
use kb_base::value::{Json, JsonMap, json_text, limits};
use smol_str::SmolStr;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A text with placeholders, parsed and resolved.
#[derive(Debug, Clone)]
pub struct Template(Parts);

/// Most texts have one part, which needs no allocation.
#[derive(Debug, Clone)]
enum Parts {
    One(Part),
    Many(Arc<[Part]>),
}

#[derive(Debug, Clone)]
enum Part {
    Text(Box<str>),
    Placeholder(Placeholder),
}

#[derive(Debug, Clone)]
enum Placeholder {
    /// `{{STEP.PATH}}`, the most common form; its text is not stored.
    Read(Reference),
    Other(Arc<OtherPlaceholder>),
}

#[derive(Debug)]
struct OtherPlaceholder {
    program: Program,
    text: Box<str>,
}

impl Template {
    /// Parses a text and resolves its placeholders. The error contains all problems.
    pub fn parse(
        text: &str,
        origin: Origin,
        names: &Names,
        style: Style,
    ) -> Result<Template, Vec<Diagnostic>> {
        let (pieces, problems) = Scanner::new(text, names, style, Mode::Text).scan();
        let whole = SourceText { code: text, base: 0, origin, names, braces: &[] };
        let mut diagnostics: Vec<Diagnostic> =
            problems.into_iter().map(|problem| whole.diagnostic_of(problem)).collect();
        let mut parts = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let found = match piece {
                Piece::Text(text) => {
                    parts.push(Part::Text(text.into()));
                    continue;
                }
                // Reported by the scanner already.
                Piece::Placeholder(found) if text[found.inner.clone()].trim().is_empty() => {
                    continue;
                }
                Piece::Placeholder(found) => found,
            };
            match program(&whole, &found) {
                Ok(program) => {
                    parts.push(Part::Placeholder(Placeholder::new(program, &text[found.outer])));
                }
                Err(problems) => diagnostics.extend(problems),
            }
        }
        if diagnostics.is_empty() { Ok(Template(Parts::of(parts))) } else { Err(diagnostics) }
    }

    /// A template without placeholders.
    pub fn literal(text: impl Into<Box<str>>) -> Template {
        Template(Parts::One(Part::Text(text.into())))
    }

    /// The text; `None` if it has placeholders.
    pub fn as_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The read that is the whole text, as in `{{scan.output.files}}`; `None` for anything else.
    pub fn as_read(&self) -> Option<&Reference> {
        match self.0.as_slice() {
            [Part::Placeholder(one)] => one.as_read(),
            _ => None,
        }
    }

    /// Whether the text starts with a placeholder.
    pub fn starts_with_value(&self) -> bool {
        matches!(self.0.as_slice().first(), Some(Part::Placeholder(_)))
    }

    /// All references, in order.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.0.as_slice().iter().flat_map(|part| match part {
            Part::Text(_) => &[],
            Part::Placeholder(placeholder) => placeholder.references(),
        })
    }

    /// Evaluates: a text that is exactly one placeholder gives its typed value, any other a string.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Json, EvalError> {
        match self.0.as_slice() {
            [Part::Placeholder(one)] => {
                let value = one.value(scope);
                let value = value.and_then(|value| value.ok_or_else(Fault::undefined));
                value.map_err(|fault| fault.in_text(&one.written()))
            }
            _ => self.render(scope).map(Json::String),
        }
    }

    /// Renders to text: strings unchanged, everything else as compact JSON.
    pub fn render(&self, scope: &dyn Scope) -> Result<String, EvalError> {
        self.render_with_ranges(scope).map(|(text, _)| text)
    }

    /// As [`Template::render`], with the byte ranges of the rendered placeholders, in order.
    pub fn render_with_ranges(
        &self,
        scope: &dyn Scope,
    ) -> Result<(String, Vec<Range<usize>>), EvalError> {
        let (mut out, mut ranges) = (String::new(), Vec::new());
        for part in self.0.as_slice() {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Placeholder(one) => {
                    let start = out.len();
                    let done = one.with(scope, |value| append(&mut out, value));
                    done.and_then(|done| done.ok_or_else(Fault::undefined)?)
                        .map_err(|fault| fault.in_text(&one.written()))?;
                    ranges.push(start..out.len());
                }
            }
        }
        Ok((out, ranges))
    }

    /// Renders as far as values exist; other placeholders stay unchanged. Also returns whether
    /// everything was rendered.
    pub fn preview(&self, scope: &dyn Scope) -> (String, bool) {
        let (mut out, mut complete) = (String::new(), true);
        for part in self.0.as_slice() {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Placeholder(one) => {
                    let (mut shown, known) = (String::new(), out.len() <= limits::RENDERED_BYTES);
                    let done = one.with(scope, |value| append(&mut shown, value));
                    let rendered = known && matches!(done, Ok(Some(Ok(()))));
                    complete &= rendered;
                    if rendered { out.push_str(&shown) } else { out.push_str(&one.written()) }
                }
            }
        }
        (out, complete)
    }
}

impl Parts {
    fn of(mut parts: Vec<Part>) -> Parts {
        match parts.pop() {
            Some(one) if parts.is_empty() => Parts::One(one),
            last => Parts::Many(parts.into_iter().chain(last).collect()),
        }
    }

    fn as_slice(&self) -> &[Part] {
        match self {
            Parts::One(part) => std::slice::from_ref(part),
            Parts::Many(parts) => parts,
        }
    }
}

impl Placeholder {
    fn new(program: Program, written: &str) -> Placeholder {
        match program {
            Program::Read(reference) if usual_form(&reference).as_deref() == Some(written) => {
                Placeholder::Read(reference)
            }
            program => {
                Placeholder::Other(Arc::new(OtherPlaceholder { program, text: written.into() }))
            }
        }
    }

    fn references(&self) -> &[Reference] {
        match self {
            Placeholder::Read(reference) => std::slice::from_ref(reference),
            Placeholder::Other(other) => other.program.references(),
        }
    }

    fn as_read(&self) -> Option<&Reference> {
        match self {
            Placeholder::Read(reference) => Some(reference),
            Placeholder::Other(other) => match &other.program {
                Program::Read(reference) => Some(reference),
                Program::Constant(_) | Program::Compiled(_) => None,
            },
        }
    }

    fn value(&self, scope: &dyn Scope) -> Result<Option<Json>, Fault> {
        match self {
            Placeholder::Read(reference) => Ok(read(reference, scope, Json::clone)),
            Placeholder::Other(other) => other.program.value(scope),
        }
    }

    fn with<T>(
        &self,
        scope: &dyn Scope,
        inspect: impl FnOnce(&Json) -> T,
    ) -> Result<Option<T>, Fault> {
        match self {
            Placeholder::Read(reference) => Ok(read(reference, scope, inspect)),
            Placeholder::Other(other) => other.program.with(scope, inspect),
        }
    }

    /// The placeholder as written.
    fn written(&self) -> Cow<'_, str> {
        match self {
            Placeholder::Read(reference) => Cow::Owned(usual_form(reference).unwrap_or_default()),
            Placeholder::Other(other) => Cow::Borrowed(&other.text),
        }
    }
}

/// The most common form of a read of a step.
fn usual_form(reference: &Reference) -> Option<String> {
    match reference {
        Reference { root: Root::Step(step), keys: Keys::Plain(keys), .. } => {
            Some(format!("{{{{{step}.{keys}}}}}"))
        }
        _ => None,
    }
}

fn program(whole: &SourceText<'_>, found: &PlaceholderSpan) -> Result<Program, Vec<Diagnostic>> {
    let inner = &whole.code[found.inner.clone()];
    let base = found.inner.start;
    match found.form {
        Form::Double | Form::Angle => compile(&SourceText { code: inner, base, ..*whole }),
        Form::Single => {
            let (code, all) = (inner.replace('-', "_"), 0..inner.len());
            compile(&SourceText { code: &code, base, braces: &[all], ..*whole })
        }
    }
}

fn append(out: &mut String, value: &Json) -> Result<(), Fault> {
    match value {
        Json::String(text) => out.push_str(text),
        other => out.push_str(&json_text(other)),
    }
    if out.len() <= limits::RENDERED_BYTES { Ok(()) } else { Err(Fault::too_large()) }
}

/// A YAML value whose strings are templates.
#[derive(Debug, Clone)]
pub enum ValueTemplate {
    /// No placeholder anywhere below.
    Literal(Box<Json>),
    /// A text with placeholders.
    Text(Template),
    /// A list with placeholders somewhere below.
    List(Box<[ValueTemplate]>),
    /// An object with placeholders somewhere below; keys are literal and keep their order.
    Map(ValueMap),
}

/// Keys with the templates of their values, in order.
pub type ValueMap = Box<[(SmolStr, ValueTemplate)]>;

impl ValueTemplate {
    /// A value without placeholders.
    pub fn literal(value: Json) -> ValueTemplate {
        ValueTemplate::Literal(value.into())
    }

    /// All references below, in order.
    pub fn references(&self) -> Vec<&Reference> {
        match self {
            ValueTemplate::Literal(_) => Vec::new(),
            ValueTemplate::Text(text) => text.references().collect(),
            ValueTemplate::List(items) => items.iter().flat_map(|item| item.references()).collect(),
            ValueTemplate::Map(map) => map.iter().flat_map(|(_, item)| item.references()).collect(),
        }
    }

    /// Evaluates all placeholders.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Json, EvalError> {
        Ok(match self {
            ValueTemplate::Literal(value) => Json::clone(value),
            ValueTemplate::Text(text) => text.evaluate(scope)?,
            ValueTemplate::List(items) => Json::Array(
                items.iter().map(|item| item.evaluate(scope)).collect::<Result<_, _>>()?,
            ),
            ValueTemplate::Map(map) => Json::Object(
                map.iter()
                    .map(|(key, item)| Ok((key.to_string(), item.evaluate(scope)?)))
                    .collect::<Result<JsonMap, EvalError>>()?,
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_template_has_at_most_64_bytes() {
        assert!(size_of::<ValueTemplate>() <= 64, "{}", size_of::<ValueTemplate>());
    }
}
