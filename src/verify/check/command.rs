//! `command` checks: a command exits with 0, and the step did not change the files that decide.

use super::super::finding::Finding;
use super::super::observation::{CommandEnd, CommandRun, Observation, ObservationQuery};
use super::super::recorded_changes::RecordedChanges;
use super::facts::{Evaluation, Facts, not_observed};
use crate::definition::{CommandCheck, refuse_computed_code, refuse_options};
use crate::expression::{EvalError, Scope, Template};
use crate::value::Json;
use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;

/// Maximum number of changed files in a reason.
const LISTED: usize = 20;

/// A `command` check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandCriterion {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Globs of files that decide the result and that the step must not change.
    pub inputs: Vec<String>,
    /// Whether the command must fail on the files as they were before the step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_fail_before: bool,
    /// Time limit of the command; the timeout of the gate applies as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

/// The words of a command. A value can be an argument, but never the code of an interpreter.
fn render(argv: &[Template], scope: &dyn Scope) -> Result<Vec<String>, EvalError> {
    let words: Vec<String> =
        argv.iter().map(|word| word.render(scope)).collect::<Result<_, EvalError>>()?;
    let computed = argv.iter().map(|word| word.as_literal().is_none());
    refuse_computed_code(words.iter().map(String::as_str).zip(computed))?;
    let starts = argv.iter().map(Template::starts_with_value);
    refuse_options(words.iter().map(String::as_str).zip(starts))?;
    Ok(words)
}

impl CommandCriterion {
    pub(super) fn resolve(
        check: &CommandCheck,
        scope: &dyn Scope,
    ) -> Result<CommandCriterion, EvalError> {
        Ok(CommandCriterion {
            argv: render(&check.argv, scope)?,
            inputs: check.inputs.clone(),
            must_fail_before: check.must_fail_before,
            timeout: check.timeout,
        })
    }

    pub(super) fn query(&self) -> ObservationQuery {
        ObservationQuery::Command { argv: self.argv.clone(), timeout: self.timeout }
    }

    pub(super) fn evaluate(&self, facts: &Facts<'_>) -> Evaluation {
        match facts.observation(&self.query()) {
            Observation::Command(run) => (self.finding(run, facts.changes), Some(evidence(run))),
            other => (not_observed(other), None),
        }
    }

    fn finding(&self, run: &CommandRun, changes: &RecordedChanges<'_>) -> Finding {
        let last_line = match run.last_words.as_str() {
            "" => String::new(),
            line => format!(": {line}"),
        };
        match &run.ended {
            CommandEnd::Code(0) => self.passed(changes),
            CommandEnd::Code(code) => Finding::failed(format!("exit code {code}{last_line}")),
            CommandEnd::Signal(signal) => {
                Finding::failed(format!("killed by signal {signal}{last_line}"))
            }
            CommandEnd::TimedOut => {
                Finding::inconclusive(format!("timeout after {} ms{last_line}", run.duration_ms))
            }
            CommandEnd::Stopped => Finding::inconclusive("the gate was stopped"),
            CommandEnd::NotStarted(reason) => {
                Finding::inconclusive(format!("the command could not be started: {reason}"))
            }
        }
    }

    /// Exit code 0 proves nothing if the step changed files that decide the result.
    fn passed(&self, changes: &RecordedChanges<'_>) -> Finding {
        if let Some(reason) = self.doubt(changes) {
            return Finding::inconclusive(format!("exit code 0, but {reason}"));
        }
        match self.must_fail_before {
            true => Finding::inconclusive("exit code 0, but `mustFailBefore` is not supported yet"),
            false => Finding::passed(),
        }
    }

    /// Why the step may have changed the result of the check.
    fn doubt(&self, changes: &RecordedChanges<'_>) -> Option<String> {
        if self.inputs.is_empty() {
            return None;
        }
        let inputs: Vec<Input> = self.inputs.iter().map(|glob| Input::new(glob)).collect();
        let decides = |path: &&str| inputs.iter().any(|input| input.covers(path));
        let changed: Vec<String> =
            changes.differing().filter(decides).map(|path| format!("`{path}`")).collect();
        if changed.is_empty() {
            return changes.gap().map(str::to_owned);
        }
        let more = match changed.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed = changed[..changed.len().min(LISTED)].join(", ");
        Some(format!("the step changed files that decide this check: {listed}{more}"))
    }
}

/// A glob of files that decide the result.
struct Input<'g> {
    text: &'g str,
    /// `None` for an invalid glob, which covers every path.
    matcher: Option<GlobMatcher>,
}

impl<'g> Input<'g> {
    fn new(glob: &'g str) -> Self {
        let text = glob.strip_prefix("./").unwrap_or(glob).trim_end_matches('/');
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        Input { text, matcher: glob.ok().map(|glob| glob.compile_matcher()) }
    }

    /// Whether it names a path or a folder that contains it.
    fn covers(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.text).is_some_and(|rest| rest.starts_with('/'));
        below || self.matcher.as_ref().is_none_or(|matcher| matcher.is_match(path))
    }
}

fn evidence(run: &CommandRun) -> Json {
    let code = match run.ended {
        CommandEnd::Code(code) => Some(code),
        CommandEnd::Signal(_)
        | CommandEnd::TimedOut
        | CommandEnd::Stopped
        | CommandEnd::NotStarted(_) => None,
    };
    json!({"exitCode": code, "durationMs": run.duration_ms, "lastWords": run.last_words})
}
