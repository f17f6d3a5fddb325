//! `command` checks: a command exits with 0, and the step did not change the files that decide.

use super::super::deciding::{Deciding, ignored_changes, is_python_cache};
use super::super::earlier_step::EarlierStep;
use super::super::finding::Finding;
use super::super::ignored_files::is_input;
use super::super::observation::{CommandEnd, CommandRun, Observation, ObservationQuery};
use super::super::path_glob::PathGlob;
use super::super::recorded_changes::RecordedChanges;
use super::super::run_before::run_before;
use super::super::shell::Script;
use super::facts::{Evaluation, Facts, not_observed};
use crate::evidence::{ProcessEndKind, ProcessEvidence, TestCounts, Verdict};
use kb_base::value::Json;
use kb_language::definition::{CommandCheck, refuse_computed_code, refuse_options};
use kb_language::expression::{EvalError, Scope, Template};
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
    /// Globs of files that decide the result and that the step may change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_change: Vec<String>,
    /// Whether the command must fail on the files as they were before the step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_fail_before: bool,
    /// Whether the command must end with another exit code than 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_fail: bool,
    /// What is required of the tests that the command runs: the minimum, and whether as many must run
    /// as before the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<(u32, bool)>,
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
            may_change: check.may_change.clone(),
            must_fail_before: check.must_fail_before,
            must_fail: check.must_fail,
            tests: check.tests.map(|tests| (tests.min_count, tests.not_fewer)),
            timeout: check.timeout,
        })
    }

    pub(in crate::verify) fn query(&self) -> ObservationQuery {
        ObservationQuery::Command { argv: self.argv.clone(), timeout: self.timeout }
    }

    pub(super) fn evaluate(&self, facts: &Facts<'_>) -> Evaluation {
        match facts.observation(&self.query()) {
            Observation::Command(run) => {
                let before = run_before(facts.trace, &self.argv);
                (self.finding(run, facts, before), Some(evidence(run, before)))
            }
            other => (not_observed(other), None),
        }
    }

    fn finding(
        &self,
        run: &CommandRun,
        facts: &Facts<'_>,
        before: Option<&ProcessEvidence>,
    ) -> Finding {
        let last_line = [&run.last_words, &run.lacked].map(|text| match text.as_str() {
            "" => String::new(),
            text => format!(": {text}"),
        });
        let last_line = last_line.concat();
        match &run.ended {
            CommandEnd::Code(0) if self.must_fail => {
                Finding::failed("exit code 0, and the command must fail")
            }
            // So end shells, `env` and `timeout` whose program is missing or cannot be executed.
            CommandEnd::Code(code @ (126 | 127)) if self.must_fail => Finding::failed(format!(
                "exit code {code}: a program could not be started{last_line}"
            )),
            CommandEnd::Code(_) | CommandEnd::Signal(_) if self.must_fail => Finding::passed(),
            CommandEnd::Code(0) => self.passed(run, facts, before),
            CommandEnd::Code(code) => Finding::failed(format!("exit code {code}{last_line}")),
            CommandEnd::Signal(signal) => {
                Finding::failed(format!("killed by signal {signal}{last_line}"))
            }
            CommandEnd::TimedOut => {
                Finding::inconclusive(format!("timeout after {} ms{last_line}", run.duration_ms))
            }
            CommandEnd::Stopped => Finding::inconclusive("the gate was stopped"),
            CommandEnd::NotStarted(reason) => {
                Finding::failed(format!("the command could not be started: {reason}"))
            }
            CommandEnd::Forbidden(what) => Finding::failed(what.clone()),
            CommandEnd::Unknown(reason) => {
                Finding::inconclusive(format!("the command has no result: {reason}"))
            }
        }
    }

    /// Exit code 0 proves nothing if the step changed files that decide the result, if the command
    /// succeeded before, or if it ran too few tests.
    fn passed(
        &self,
        run: &CommandRun,
        facts: &Facts<'_>,
        before: Option<&ProcessEvidence>,
    ) -> Finding {
        let changes = facts.changes;
        let changed = self.changed_inputs(changes);
        if !changed.is_empty() {
            let listed = listed(&changed);
            let reason =
                format!("exit code 0, but the step changed files that decide this check: {listed}");
            return Finding::failed(reason);
        }
        let gap = changes.gap().filter(|_| !self.inputs.is_empty());
        let gap = gap.map(|gap| Finding::inconclusive(format!("exit code 0, but {gap}")));
        let ignored = self.ignored_input(facts).map(|path| {
            Finding::inconclusive(format!(
                "exit code 0, but `{path}` changed since the step began; `inputs` of the check names it, and ignore rules \
                 hide what it was"
            ))
        });
        let failed_before = self.must_fail_before.then(|| must_have_failed(before)).flatten();
        let few = self.too_few(run, before);
        let found = [gap, ignored, failed_before, few, self.decided_by_step(facts)];
        let mut found: Vec<Finding> = found.into_iter().flatten().collect();
        let refuted = found.iter().position(|finding| finding.verdict == Verdict::Failed);
        match refuted {
            Some(at) => found.swap_remove(at),
            None => found.into_iter().next().unwrap_or_else(Finding::passed),
        }
    }

    /// The finding if the step changed what decides the result and no key of the check says that it may. A tool call that
    /// changed settings of the runner refutes, as if `inputs` named them; all else is doubt.
    fn decided_by_step(&self, facts: &Facts<'_>) -> Option<Finding> {
        let commands = self.commands();
        let changed = commands.iter().filter_map(|argv| {
            let test = facts.test_commands.read(argv);
            let deciding = Deciding {
                argv,
                test: test.as_ref(),
                changes: facts.changes,
                observations: facts.observations,
                allowed: &self.may_change,
                asked: facts.asked,
                new_programs: true,
                fresh_caches: true,
            };
            deciding.changed()
        });
        let Some(decided) = changed.max_by_key(|decided| decided.is_frozen) else {
            return self.decided_before(facts, &commands);
        };
        let reason = format!("exit code 0, but {}", decided.reason);
        Some(match (decided.is_frozen, &decided.path) {
            (true, _) => Finding::failed(format!(
                "{reason}: undo the change; if it belongs to the work, the author of the check names the file in `mayChange`"
            )),
            (false, Some(_)) => Finding::inconclusive(format!(
                "{reason}; name it in `inputs` of the check to forbid that, or in `mayChange` to allow it"
            )),
            (false, None) => Finding::inconclusive(reason),
        })
    }

    /// The doubt if a specialist changed what decides the result in an earlier step.
    fn decided_before(&self, facts: &Facts<'_>, commands: &[Vec<String>]) -> Option<Finding> {
        let why = commands.iter().find_map(|argv| {
            let test = facts.test_commands.read(argv);
            let by = |step: &EarlierStep| {
                step.decides(argv, test.as_ref(), facts.observations, &self.may_change)
            };
            facts.earlier.iter().find_map(by)
        })?;
        Some(Finding::inconclusive(format!(
            "exit code 0, but {why}; name it in `mayChange` of the check to allow it"
        )))
    }

    /// The command, and the commands of its script if it is a shell with one.
    pub(in crate::verify) fn commands(&self) -> Vec<Vec<String>> {
        let inner = Script::of(&self.argv).commands.into_iter().map(|used| used.argv);
        let inner = inner.filter(|argv| *argv != self.argv);
        std::iter::once(self.argv.clone()).chain(inner).collect()
    }

    /// The finding if the command ran fewer tests than required.
    fn too_few(&self, run: &CommandRun, before: Option<&ProcessEvidence>) -> Option<Finding> {
        let (least, not_fewer) = self.tests?;
        let ran = |process: &ProcessEvidence| process.tests.map(TestCounts::ran);
        let Some(count) = run.process.as_deref().and_then(ran) else {
            return Some(Finding::inconclusive(
                "exit code 0, but its output reports no number of tests in a known form",
            ));
        };
        if count < u64::from(least) {
            let reason = format!("exit code 0, but {count} tests ran, and {least} are required");
            return Some(Finding::failed(reason));
        }
        if !not_fewer {
            return None;
        }
        match before.map(ran) {
            None => Some(Finding::inconclusive(format!("exit code 0, but {NOT_BEFORE}"))),
            Some(Some(earlier)) if count < earlier => Some(Finding::failed(format!(
                "exit code 0, but {count} tests ran, and {earlier} before the step"
            ))),
            // Without a summary before the step there was no test, or its code did not compile.
            Some(_) => None,
        }
    }

    /// An ignored file of `inputs` that changed since the step began.
    fn ignored_input<'f>(&self, facts: &Facts<'f>) -> Option<&'f str> {
        let is_read = |path: &&str| {
            self.inputs.iter().any(|glob| is_input(path, glob)) && !is_python_cache(path)
        };
        let mut changed =
            ignored_changes(facts.observations)?.iter().map(|file| file.path.as_str());
        changed.find(is_read)
    }

    fn changed_inputs<'c>(&self, changes: &RecordedChanges<'c>) -> Vec<&'c str> {
        let inputs = PathGlob::list(&self.inputs);
        let decides = |path: &&str| inputs.iter().any(|input| input.covers(path, true));
        // The command runs without the caches of compiled Python of the project.
        let is_read = |path: &&str| !is_python_cache(path);
        changes.differing().filter(decides).filter(is_read).collect()
    }
}

const NOT_BEFORE: &str = "the command did not run before the step";

/// The finding unless the command failed before the step.
fn must_have_failed(before: Option<&ProcessEvidence>) -> Option<Finding> {
    let Some(before) = before else {
        return Some(Finding::inconclusive(format!("exit code 0, but {NOT_BEFORE}")));
    };
    match (before.exit_code, before.end) {
        (Some(0), _) => Some(Finding::failed(
            "exit code 0, but the command succeeded before the step too, so it proves nothing",
        )),
        (Some(_), _) | (None, Some(ProcessEndKind::Signal)) => None,
        _ => Some(Finding::inconclusive(
            "exit code 0, but the command did not end with an exit code before the step",
        )),
    }
}

/// Paths for a reason.
fn listed(paths: &[&str]) -> String {
    let listed = paths.iter().take(LISTED).map(|path| format!("`{path}`")).collect::<Vec<_>>();
    match paths.len().saturating_sub(LISTED) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

fn evidence(run: &CommandRun, before: Option<&ProcessEvidence>) -> Json {
    let code = match run.ended {
        CommandEnd::Code(code) => Some(code),
        CommandEnd::Signal(_)
        | CommandEnd::TimedOut
        | CommandEnd::Stopped
        | CommandEnd::NotStarted(_)
        | CommandEnd::Unknown(_)
        | CommandEnd::Forbidden(_) => None,
    };
    let mut evidence =
        json!({"exitCode": code, "durationMs": run.duration_ms, "lastWords": run.last_words});
    if let Some(tests) = run.process.as_deref().and_then(|process| process.tests) {
        evidence["tests"] = json!(tests);
    }
    if let Some(before) = before {
        evidence["before"] = json!({"exitCode": before.exit_code, "tests": before.tests});
    }
    evidence
}
