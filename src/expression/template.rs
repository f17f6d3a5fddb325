use super::parse::{Names, Origin, Style};
use super::{EvalError, Reference, Scope};
use crate::diagnostic::Diagnostic;
use crate::value::{Json, JsonMap};
use std::sync::Arc;

/// A text with placeholders, parsed and resolved.
#[derive(Debug, Clone)]
pub struct Template {
    text: Arc<str>,
    references: Arc<[Reference]>,
}

impl Template {
    /// Parses and resolves every placeholder of a text.
    pub fn parse(
        text: &str,
        _origin: Origin,
        _names: &Names,
        _style: Style,
    ) -> Result<Template, Vec<Diagnostic>> {
        Ok(Template::literal(text))
    }

    /// A text that is taken as it is.
    pub fn literal(text: impl Into<Arc<str>>) -> Template {
        Template { text: text.into(), references: Arc::new([]) }
    }

    /// The text, where it holds no placeholder.
    pub fn as_literal(&self) -> Option<&str> {
        Some(&self.text)
    }

    /// Every read of a name, in order.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The value: typed where the text is exactly one placeholder, else text.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Json, EvalError> {
        self.render(scope).map(Json::String)
    }

    /// The value as text.
    pub fn render(&self, _scope: &dyn Scope) -> Result<String, EvalError> {
        Ok(self.text.to_string())
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
