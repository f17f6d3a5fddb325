//! `expr` checks: an expression is true.

use super::super::finding::Finding;
use super::facts::unresolved;
use kb_base::value::Failure;
use kb_language::expression::{Expression, Scope};
use serde::{Deserialize, Serialize};

/// An `expr` check with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpressionCriterion {
    /// The expression as written.
    pub source: String,
    /// Whether it was true, or why it could not be evaluated.
    pub truth: Result<bool, Failure>,
    /// The expression with the values that it read, if it was false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<String>,
}

impl ExpressionCriterion {
    pub(super) fn evaluated(expression: &Expression, scope: &dyn Scope) -> ExpressionCriterion {
        let truth = expression.truth(scope).map_err(|failure| *failure);
        let values = (truth == Ok(false)).then(|| expression.with_values(scope));
        ExpressionCriterion { source: expression.source().to_owned(), truth, values }
    }

    pub(super) fn evaluate(&self) -> Finding {
        match &self.truth {
            Ok(true) => Finding::passed(),
            Ok(false) => match self.values.as_deref().filter(|values| *values != "false") {
                Some(values) => Finding::failed(format!("{values} is false")),
                None => Finding::failed("it is false"),
            },
            Err(failure) => unresolved(failure),
        }
    }
}
