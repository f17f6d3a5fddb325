use super::compile::{Text, compile};
use super::fault::Fault;
use super::parse::{Names, Origin, Style};
use super::program::Program;
use super::scan::{Form, Found, Mode, Piece, Scanner};
use super::{EvalError, Reference, Scope};
use crate::diagnostic::Diagnostic;
use crate::value::{Json, JsonMap, json_text, limits};
use std::sync::Arc;

/// A text with placeholders, parsed and resolved.
#[derive(Debug, Clone)]
pub struct Template {
    parts: Arc<[Part]>,
    references: Arc<[Reference]>,
}

#[derive(Debug)]
enum Part {
    Text(Arc<str>),
    Placeholder { program: Program, written: String },
}

impl Template {
    /// Parses and resolves every placeholder of a text; the errors are all problems of all of them.
    pub fn parse(
        text: &str,
        origin: Origin,
        names: &Names,
        style: Style,
    ) -> Result<Template, Vec<Diagnostic>> {
        let (pieces, problems) = Scanner::new(text, names, style, Mode::Text).scan();
        let whole = Text { code: text, base: 0, origin, names, braces: &[] };
        let mut diagnostics: Vec<Diagnostic> =
            problems.into_iter().map(|problem| whole.diagnostic_of(problem)).collect();
        let (mut parts, mut references) = (Vec::new(), Vec::new());
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
            match placeholder(&whole, &found) {
                Ok((program, reads)) => {
                    references.extend(reads);
                    let written = text[found.outer].to_owned();
                    parts.push(Part::Placeholder { program, written });
                }
                Err(problems) => diagnostics.extend(problems),
            }
        }
        match diagnostics.is_empty() {
            true => Ok(Template { parts: parts.into(), references: references.into() }),
            false => Err(diagnostics),
        }
    }

    /// A text that is taken as it is.
    pub fn literal(text: impl Into<Arc<str>>) -> Template {
        Template { parts: Arc::new([Part::Text(text.into())]), references: Arc::new([]) }
    }

    /// The text, where it holds no placeholder.
    pub fn as_literal(&self) -> Option<&str> {
        match &*self.parts {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Every read of a name, in order.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The value: typed where the text is exactly one placeholder, else text.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Json, EvalError> {
        match &*self.parts {
            [Part::Placeholder { program, written }] => program
                .value(scope)
                .and_then(|value| value.ok_or_else(Fault::undefined))
                .map_err(|fault| fault.in_text(written)),
            _ => self.render(scope).map(Json::String),
        }
    }

    /// The value as text: strings raw, everything else compact JSON.
    pub fn render(&self, scope: &dyn Scope) -> Result<String, EvalError> {
        let mut out = String::new();
        for part in &*self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Placeholder { program, written } => program
                    .with(scope, |value| append(&mut out, value))
                    .and_then(|done| done.ok_or_else(Fault::undefined)?)
                    .map_err(|fault| fault.in_text(written))?,
            }
        }
        Ok(out)
    }

    /// The text as far as its values are known: placeholders without one stay as they are written.
    /// Also whether all of it is rendered.
    pub fn preview(&self, scope: &dyn Scope) -> (String, bool) {
        let (mut out, mut complete) = (String::new(), true);
        for part in &*self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Placeholder { program, written } => {
                    let (mut shown, known) = (String::new(), out.len() <= limits::RENDERED_BYTES);
                    let done = program.with(scope, |value| append(&mut shown, value));
                    let rendered = known && matches!(done, Ok(Some(Ok(()))));
                    complete &= rendered;
                    out.push_str(if rendered { &shown } else { written });
                }
            }
        }
        (out, complete)
    }
}

fn placeholder(
    whole: &Text<'_>,
    found: &Found,
) -> Result<(Program, Vec<Reference>), Vec<Diagnostic>> {
    let inner = &whole.code[found.inner.clone()];
    let base = found.inner.start;
    match found.form {
        Form::Double | Form::Angle => compile(&Text { code: inner, base, ..*whole }),
        Form::Single => {
            let (code, all) = (inner.replace('-', "_"), 0..inner.len());
            compile(&Text { code: &code, base, braces: &[all], ..*whole })
        }
    }
}

fn append(out: &mut String, value: &Json) -> Result<(), Fault> {
    match value {
        Json::String(text) => out.push_str(text),
        other => out.push_str(&json_text(other)),
    }
    match out.len() <= limits::RENDERED_BYTES {
        true => Ok(()),
        false => Err(Fault::too_large()),
    }
}

/// A YAML value whose strings are templates.
#[derive(Debug, Clone)]
pub enum ValueTemplate {
    /// No placeholder anywhere below.
    Literal(Json),
    /// A text with placeholders.
    Text(Template),
    /// A list with placeholders somewhere below.
    List(Vec<ValueTemplate>),
    /// An object with placeholders somewhere below; keys are literal and keep their order.
    Map(Vec<(String, ValueTemplate)>),
}

impl ValueTemplate {
    /// Every read of a name below, in order.
    pub fn references(&self) -> Vec<&Reference> {
        match self {
            ValueTemplate::Literal(_) => Vec::new(),
            ValueTemplate::Text(text) => text.references().iter().collect(),
            ValueTemplate::List(items) => items.iter().flat_map(|item| item.references()).collect(),
            ValueTemplate::Map(map) => map.iter().flat_map(|(_, item)| item.references()).collect(),
        }
    }

    /// The value with every placeholder replaced.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Json, EvalError> {
        Ok(match self {
            ValueTemplate::Literal(value) => value.clone(),
            ValueTemplate::Text(text) => text.evaluate(scope)?,
            ValueTemplate::List(items) => Json::Array(
                items.iter().map(|item| item.evaluate(scope)).collect::<Result<_, _>>()?,
            ),
            ValueTemplate::Map(map) => Json::Object(
                map.iter()
                    .map(|(key, item)| Ok((key.clone(), item.evaluate(scope)?)))
                    .collect::<Result<JsonMap, EvalError>>()?,
            ),
        })
    }
}
