//! Claims about test results: `testResult: passed` needs a recorded run of a test command that exited
//! with 0 and saw the files as the step left them.

use super::finding::Finding;
use super::keys::{field, is_key, sources};
use super::later_edits::LaterEdits;
use super::recorded_runs::{CommandResult, RecordedRun, RecordedRuns};
use super::shell::CommandUse;
use super::test_command::TestCommands;
use super::test_options::hides_failures;
use crate::evidence::TestCounts;
use kb_base::value::Json;
use serde_json::json;

/// A statement of an output about the result of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TestClaim {
    pub(super) passed: bool,
    /// Claimed numbers of passed and failed tests.
    pub(super) counts: (Option<u64>, Option<u64>),
}

const KEYS: [&str; 6] =
    ["testresult", "testresults", "teststatus", "testoutcome", "testspassed", "tests"];

/// The claims of an output about test results, each one once. Texts such as `skipped` claim nothing. A
/// number of passed tests alone says that the tests passed only if no other key says that they failed.
pub(super) fn test_claims(output: &Json) -> Vec<TestClaim> {
    let values = sources(output).flat_map(|source| source.iter());
    let values = values.filter(|(key, _)| is_key(key, &KEYS));
    let mut claims: Vec<TestClaim> = Vec::new();
    for claim in values.filter_map(|(_, value)| TestClaim::of(value)) {
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    }
    if claims.iter().any(|claim| !claim.passed) {
        claims.retain(|claim| !claim.passed || !matches!(claim.counts, (Some(_), None)));
    }
    // Claims of the same result are one if the numbers of at most one of them are stated.
    let counted = |claims: &[TestClaim], passed: bool| {
        claims.iter().any(|claim| claim.passed == passed && claim.counts != (None, None))
    };
    let has_counts = [counted(&claims, false), counted(&claims, true)];
    claims.retain(|claim| claim.counts != (None, None) || !has_counts[usize::from(claim.passed)]);
    claims
}

impl TestClaim {
    fn of(value: &Json) -> Option<TestClaim> {
        let none = (None, None);
        match value {
            Json::Bool(passed) => Some(TestClaim { passed: *passed, counts: none }),
            Json::String(text) => {
                let text = text.trim().to_ascii_lowercase();
                let starts = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
                let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
                let failed = starts(&["fail", "red", "error"])
                    || (any(&["fail"]) && !any(&["0 fail", "no fail", "without fail"]));
                let passed = starts(&["pass", "ok", "success", "green", "succeeded", "true"])
                    || any(&["passed", "all tests pass", "tests pass", "succeeded"]);
                let skipped = starts(&["skip", "not ", "none", "n/a"]);
                (!skipped && (failed || passed))
                    .then_some(TestClaim { passed: !failed, counts: none })
            }
            Json::Object(_) => {
                let number = |names: &[&str]| field(value, names).and_then(Json::as_u64);
                let (passed, failed) = (number(&["passed"]), number(&["failed", "failures"]));
                let status = field(value, &["status", "result", "success", "outcome"]);
                let stated = status.and_then(TestClaim::of).map(|claim| claim.passed);
                let counted = failed.map(|failed| failed == 0).or(passed.map(|_| true));
                let is_passed = stated.or(counted)?;
                Some(TestClaim { passed: is_passed, counts: (passed, failed) })
            }
            _ => None,
        }
    }

    /// The name of the claim.
    pub(super) fn name(self) -> &'static str {
        if self.passed { "passed" } else { "failed" }
    }

    /// The verdict over the claim, with the evidence.
    pub(super) fn check(
        self,
        runs: &RecordedRuns<'_>,
        commands: &TestCommands,
        edits: &LaterEdits<'_>,
    ) -> (Finding, Json) {
        let all = runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
        let tests: Vec<TestRun<'_>> = all
            .filter(|(_, used)| commands.contains(&used.argv))
            .map(|(run, used)| TestRun { run, used, result: run.result(used) })
            .collect();
        let unclear = runs
            .iter()
            .rev()
            .find(|run| run.script.unparsed.as_ref().is_some_and(|text| commands.may_be_in(text)));
        let printed = |run: &&RecordedRun<'_>| run.tests.is_some_and(|tests| tests.failed > 0);
        let finding = match (tests.is_empty(), unclear, self.passed) {
            (true, Some(run), true) if printed(&run) => Finding::failed(format!(
                "tests are claimed to have passed, but the output of call `{}` reports failed tests",
                run.call.id
            )),
            (true, Some(run), _) => Finding::inconclusive(format!(
                "tests are claimed to have {}, but the script of call `{}` could not be analysed",
                self.name(),
                run.call.id
            )),
            (true, None, _) => Finding::failed(format!(
                "tests are claimed to have {}, but no recorded call ran a test command",
                self.name()
            )),
            (false, _, true) => self.passed(&tests, edits),
            (false, _, false) => failed(&tests),
        };
        let calls: Vec<&str> = tests.iter().map(|test| test.run.call.id.as_str()).collect();
        let last = tests.last();
        let evidence = json!({
            "calls": calls,
            "command": last.map(TestRun::name),
            "exitCode": last.and_then(|test| test.run.exit_code()),
            "tests": last.and_then(|test| test.run.tests),
        });
        (finding, evidence)
    }

    /// The last run decides whose result is known. A run before an edit proves nothing.
    fn passed(self, tests: &[TestRun<'_>], edits: &LaterEdits<'_>) -> Finding {
        let mut doubt: Option<Finding> = None;
        for test in tests.iter().rev() {
            let (name, call) = (test.name(), &test.run.call.id);
            let counts = test.run.tests;
            if let Some(failed) = counts.map(|counts| counts.failed).filter(|failed| *failed > 0) {
                return doubt.unwrap_or_else(|| {
                    Finding::failed(format!(
                        "tests are claimed to have passed, but the output of `{name}` (call `{call}`) \
                         reports {failed} failed"
                    ))
                });
            }
            let refuted = match &test.result {
                CommandResult::Succeeded => match self.succeeded(test, edits) {
                    Ok(()) => {
                        let doubt = repeated(test, tests, edits).or_else(|| fewer(test, tests));
                        return doubt.unwrap_or_else(Finding::passed);
                    }
                    Err(finding) => finding,
                },
                CommandResult::Failed(_, reason) => Finding::failed(format!(
                    "tests are claimed to have passed, but `{name}` {reason} (call `{call}`)"
                )),
                CommandResult::FailedScript(reason) if counts.is_none() => {
                    Finding::failed(format!(
                        "tests are claimed to have passed, but the script with `{name}` {reason} (call \
                         `{call}`)"
                    ))
                }
                CommandResult::FailedScript(reason) => Finding::inconclusive(format!(
                    "the script with `{name}` {reason} (call `{call}`)"
                )),
                CommandResult::Masked(why) => Finding::inconclusive(format!(
                    "`{name}` ran in call `{call}`, but its exit code is not known: {why}"
                )),
                CommandResult::Unknown => Finding::inconclusive(format!(
                    "the outcome of `{name}` (call `{call}`) is unknown"
                )),
            };
            match test.result {
                CommandResult::Masked(_) | CommandResult::Unknown => {
                    doubt.get_or_insert(refuted);
                }
                CommandResult::Succeeded
                | CommandResult::Failed(..)
                | CommandResult::FailedScript(_) => return doubt.unwrap_or(refuted),
            }
        }
        doubt.unwrap_or_else(|| Finding::inconclusive("no test run has a known result"))
    }

    /// Whether a run with exit code 0 proves that the tests pass.
    fn succeeded(self, test: &TestRun<'_>, edits: &LaterEdits<'_>) -> Result<(), Finding> {
        let (name, call) = (test.name(), &test.run.call.id);
        edits.check(test.run, test.used, &name)?;
        let hidden = hides_failures(&test.used.argv, &test.run.script.assigned);
        if let Some(option) = hidden {
            return Err(Finding::inconclusive(format!(
                "`{name}` (call `{call}`) exited with code 0, but with `{option}` it can do so whatever the \
                 tests do"
            )));
        }
        let Some(counts) = test.run.tests else { return Ok(()) };
        if counts.ran() == 0 {
            return Err(Finding::failed(format!(
                "0 tests ran: `{name}` (call `{call}`) exited with code 0, but its output reports no \
                 test"
            )));
        }
        let differs = |claimed: Option<u64>, actual: u64| claimed.is_some_and(|c| c != actual);
        if differs(self.counts.0, counts.passed) || differs(self.counts.1, counts.failed) {
            return Err(Finding::failed(format!(
                "the claimed numbers of tests differ from the output of `{name}` (call `{call}`): {} \
                 passed, {} failed",
                counts.passed, counts.failed
            )));
        }
        Ok(())
    }
}

/// A recorded run of a test command.
struct TestRun<'a> {
    run: &'a RecordedRun<'a>,
    used: &'a CommandUse,
    result: CommandResult,
}

impl TestRun<'_> {
    fn name(&self) -> String {
        self.used.argv.join(" ")
    }
}

/// An earlier run of the same command that ran more tests.
fn fewer(proof: &TestRun<'_>, tests: &[TestRun<'_>]) -> Option<Finding> {
    let ran = |test: &TestRun<'_>| test.run.tests.map(TestCounts::ran);
    let now = ran(proof)?;
    let earlier = tests.iter().filter(|test| {
        test.used.argv == proof.used.argv && test.run.at < proof.run.at && ran(test) > Some(now)
    });
    let most = earlier.max_by_key(|test| ran(test))?;
    Some(Finding::inconclusive(format!(
        "`{}` ran {now} tests, and {} before (call `{}`)",
        proof.name(),
        ran(most).unwrap_or_default(),
        most.run.call.id
    )))
}

/// Another test command that failed on the same files and was not repeated.
fn repeated(proof: &TestRun<'_>, tests: &[TestRun<'_>], edits: &LaterEdits<'_>) -> Option<Finding> {
    let failing = tests.iter().rev().find(|test| {
        let is_last =
            tests.iter().rfind(|other| other.used.argv == test.used.argv).map(|o| o.run.at);
        let failed = matches!(test.result, CommandResult::Failed(..));
        let other = test.used.argv != proof.used.argv && is_last == Some(test.run.at);
        other && failed && edits.check(test.run, test.used, &test.name()).is_ok()
    })?;
    Some(Finding::inconclusive(format!(
        "`{}` succeeded, but `{}` failed on the same files (call `{}`) and was not repeated",
        proof.name(),
        failing.name(),
        failing.run.call.id
    )))
}

/// `testResult: failed` needs a recorded run that failed.
fn failed(tests: &[TestRun<'_>]) -> Finding {
    let is_failed = |test: &&TestRun<'_>| {
        let counted = test.run.tests.is_some_and(|counts| counts.failed > 0);
        let ended =
            matches!(test.result, CommandResult::Failed(..) | CommandResult::FailedScript(_));
        counted || ended
    };
    if tests.iter().any(|test| is_failed(&test)) {
        return Finding::passed();
    }
    let succeeded = tests.iter().rfind(|test| test.result == CommandResult::Succeeded);
    match succeeded {
        Some(test) => Finding::failed(format!(
            "tests are claimed to have failed, but `{}` exited with code 0 (call `{}`)",
            test.name(),
            test.run.call.id
        )),
        None => Finding::inconclusive(
            "tests are claimed to have failed, but the exit code of no test run is known",
        ),
    }
}
