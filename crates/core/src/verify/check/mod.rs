//! The checks of a gate. Everything about one kind of check is in one file: its values, what it
//! observes, its verdict, and its recorded form.
//!
//! To add a kind: its module in `definition::gate_check`, a file here, and the matches below, which the
//! compiler lists.

mod command;
mod diff;
mod expression;
mod facts;
mod file;
mod judge;
mod schema;

pub use command::CommandCriterion;
pub use diff::DiffCriterion;
pub use expression::ExpressionCriterion;
pub(super) use facts::Facts;
pub use file::FileCriterion;
pub use judge::JudgeCriterion;
pub(super) use schema::{digest, evaluate as evaluate_schema};

use super::observation::ObservationQuery;
use crate::evidence::CheckDetail;
use facts::unresolved;
use kb_base::value::{Digest, Failure};
use kb_language::definition::{Check, Schema};
use kb_language::expression::Scope;
use serde::{Deserialize, Serialize};

/// The name of the check of a judge in the details of a verdict.
pub(super) const JUDGE: &str = "judge";

/// One check with all placeholders evaluated.
#[derive(Debug, Clone)]
pub enum Criterion {
    /// The output satisfies this schema.
    Schema(Schema),
    /// Files that must exist, or must not.
    Files(FileCriterion),
    /// A command that must exit with 0.
    Command(CommandCriterion),
    /// An expression that must be true.
    Expression(ExpressionCriterion),
    /// Limits of the changes of the step.
    Diff(DiffCriterion),
    /// The review of the answer by a larger model.
    Judge(JudgeCriterion),
    /// A check whose placeholders could not be evaluated.
    Unresolved {
        /// The kind of the check, such as `file`.
        check: String,
        /// Why the evaluation failed.
        failure: Failure,
    },
}

/// The recorded form of a [`Criterion`]. Journals contain it, so the names cannot change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum RecordedCriterion {
    /// The digest of the schema; the frozen definition has the schema itself.
    Schema(Digest),
    Files(FileCriterion),
    Command(CommandCriterion),
    Truth(ExpressionCriterion),
    Diff(DiffCriterion),
    Judge(JudgeCriterion),
    Unresolved {
        check: String,
        failure: Failure,
    },
}

impl Criterion {
    /// Evaluates the placeholders and the expression of a check.
    pub fn resolve(check: &Check, scope: &dyn Scope) -> Criterion {
        let resolved = match check {
            Check::Schema(schema) => Ok(Criterion::Schema(schema.clone())),
            Check::File(check) => FileCriterion::resolve(check, scope).map(Criterion::Files),
            Check::Command(check) => {
                CommandCriterion::resolve(check, scope).map(Criterion::Command)
            }
            Check::Expr(expression) => {
                Ok(Criterion::Expression(ExpressionCriterion::evaluated(expression, scope)))
            }
            Check::Diff(diff) => Ok(Criterion::Diff(DiffCriterion::of(diff))),
            Check::Judge(judge) => Ok(Criterion::Judge(JudgeCriterion::of(judge))),
        };
        resolved.unwrap_or_else(|failure| Criterion::Unresolved {
            check: check.name().to_owned(),
            failure: *failure,
        })
    }

    /// The command of a command check.
    pub(super) fn command(&self) -> Option<&CommandCriterion> {
        if let Criterion::Command(command) = self { Some(command) } else { None }
    }

    /// What the check must observe, if anything.
    pub(super) fn query(&self) -> Option<ObservationQuery> {
        match self {
            Criterion::Files(files) => Some(files.query()),
            Criterion::Command(command) => Some(command.query()),
            Criterion::Schema(_)
            | Criterion::Expression(_)
            | Criterion::Diff(_)
            | Criterion::Judge(_)
            | Criterion::Unresolved { .. } => None,
        }
    }

    /// The verdict over the check.
    pub(super) fn evaluate(&self, facts: &Facts<'_>) -> CheckDetail {
        let (finding, evidence) = match self {
            Criterion::Schema(schema) => schema::evaluate(schema, facts.output),
            Criterion::Files(files) => files.evaluate(facts),
            Criterion::Command(command) => command.evaluate(facts),
            Criterion::Expression(expression) => (expression.evaluate(), None),
            Criterion::Diff(diff) => diff.evaluate(facts),
            Criterion::Judge(judge) => judge.evaluate(facts),
            Criterion::Unresolved { failure, .. } => (unresolved(failure), None),
        };
        finding.into_detail(self.label(), evidence)
    }

    /// The check for people, such as `file src/**/*.rs`.
    fn label(&self) -> String {
        match self {
            Criterion::Schema(_) => "schema".to_owned(),
            Criterion::Files(files) => format!("file {}", files.pattern),
            Criterion::Command(command) => format!("command {}", command.argv.join(" ")),
            Criterion::Expression(expression) => format!("expr {}", expression.source),
            Criterion::Diff(_) => "diff".to_owned(),
            Criterion::Judge(_) => JUDGE.to_owned(),
            Criterion::Unresolved { check, .. } => check.clone(),
        }
    }

    /// Whether the verdict rests on an observation of the disk, and not only on the output.
    pub(super) fn is_observed(&self) -> bool {
        match self {
            Criterion::Files(_) | Criterion::Command(_) | Criterion::Diff(_) => true,
            Criterion::Schema(_)
            | Criterion::Expression(_)
            | Criterion::Judge(_)
            | Criterion::Unresolved { .. } => false,
        }
    }
}

impl RecordedCriterion {
    pub(super) fn of(criterion: &Criterion) -> RecordedCriterion {
        match criterion.clone() {
            Criterion::Schema(schema) => RecordedCriterion::Schema(digest(&schema)),
            Criterion::Files(files) => RecordedCriterion::Files(files),
            Criterion::Command(command) => RecordedCriterion::Command(command),
            Criterion::Expression(expression) => RecordedCriterion::Truth(expression),
            Criterion::Diff(diff) => RecordedCriterion::Diff(diff),
            Criterion::Judge(judge) => RecordedCriterion::Judge(judge),
            Criterion::Unresolved { check, failure } => {
                RecordedCriterion::Unresolved { check, failure }
            }
        }
    }

    /// The criterion again; `None` if the check of the frozen definition is another one.
    pub(super) fn restore(self, check: &Check) -> Option<Criterion> {
        let name = check.name();
        match (self, check) {
            (RecordedCriterion::Schema(recorded), Check::Schema(schema)) => {
                (digest(schema) == recorded).then(|| Criterion::Schema(schema.clone()))
            }
            (RecordedCriterion::Files(files), Check::File(_)) => Some(Criterion::Files(files)),
            (RecordedCriterion::Command(command), Check::Command(_)) => {
                Some(Criterion::Command(command))
            }
            (RecordedCriterion::Truth(expression), Check::Expr(_)) => {
                Some(Criterion::Expression(expression))
            }
            (RecordedCriterion::Diff(diff), Check::Diff(_)) => Some(Criterion::Diff(diff)),
            (RecordedCriterion::Judge(judge), Check::Judge(_)) => Some(Criterion::Judge(judge)),
            (RecordedCriterion::Unresolved { check, failure }, _) => {
                (check == name).then_some(Criterion::Unresolved { check, failure })
            }
            (
                RecordedCriterion::Schema(_)
                | RecordedCriterion::Files(_)
                | RecordedCriterion::Command(_)
                | RecordedCriterion::Truth(_)
                | RecordedCriterion::Diff(_)
                | RecordedCriterion::Judge(_),
                _,
            ) => None,
        }
    }
}
