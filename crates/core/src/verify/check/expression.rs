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
}

impl ExpressionCriterion {
    pub(super) fn evaluated(expression: &Expression, scope: &dyn Scope) -> ExpressionCriterion {
        ExpressionCriterion {
            source: expression.source().to_owned(),
            truth: expression.truth(scope).map_err(|failure| *failure),
        }
    }

    pub(super) fn evaluate(&self) -> Finding {
        match &self.truth {
            Ok(true) => Finding::passed(),
            Ok(false) => Finding::failed("it is false"),
            Err(failure) => unresolved(failure),
        }
    }
}
