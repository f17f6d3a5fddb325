//! `if` of jobs and steps of GitHub Actions.

use super::actions_expression::{Scope, expression};
use super::draft::Draft;
use crate::definition::Positioned;

/// When a step or job runs, by what happened before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum When {
    /// If nothing before it failed.
    #[default]
    Success,
    /// Whatever happened: `always()`, `!cancelled()`.
    Always,
    /// If something before it failed: `failure()`.
    Failure,
    /// In no case that a playbook has: `cancelled()`.
    Never,
}

/// A condition of a step or job.
#[derive(Debug, Clone, Default)]
pub(super) struct Condition {
    /// When it runs, by what happened before.
    pub(super) when: When,
    /// What must be true too, as an expression of a playbook.
    pub(super) expression: Option<String>,
}

impl Condition {
    /// The condition of a text. What has no counterpart is reported, and left out.
    pub(super) fn of(value: &Positioned, scope: &Scope<'_>, draft: &mut Draft) -> Condition {
        let text = value.words().unwrap_or_default();
        let bare = text.trim();
        let bare =
            bare.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).unwrap_or(bare);
        let mut found = Condition::default();
        let mut rest: Vec<&str> = Vec::new();
        // `||` beside a function about the status has no counterpart.
        let parts = if bare.contains("||") { vec![bare] } else { bare.split("&&").collect() };
        for part in parts {
            match part.trim() {
                "always()" | "!cancelled()" | "success() || failure()" => found.when = When::Always,
                "failure()" => found.when = When::Failure,
                "cancelled()" => found.when = When::Never,
                "success()" | "true" => {}
                part => rest.push(part),
            }
        }
        if rest.is_empty() {
            return found;
        }
        match expression(&rest.join(" && "), scope) {
            Ok(expression) => found.expression = Some(expression),
            Err(unknown) => draft.unmapped(
                value.line,
                format!("`if: {text}` is not mapped (`{unknown}`): {}", found.when.in_words()),
            ),
        }
        found
    }
}

impl When {
    fn in_words(self) -> &'static str {
        match self {
            When::Success => "the step runs always",
            When::Always => "the step runs always, also after a failure",
            When::Failure => "the step runs after each failure",
            When::Never => "the step never runs",
        }
    }
}
