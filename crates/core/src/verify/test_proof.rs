//! The proof of a claim about test results: `testResult: passed` needs a recorded run of all tests that exited with 0
//! and saw the files as the step left them.

use super::finding::Finding;
use super::later_edits::LaterEdits;
use super::recorded_runs::{CommandResult, RecordedRun, RecordedRuns};
use super::runner::{TestCommands, canonical, executes_project, hides_failures, names_runner};
use super::shell::CommandUse;
use super::test_claim::TestClaim;
use super::test_doubt::{
    TestRun, failed_before, fewer, left_out, of_another_kind, repeated, suites_left_out,
};
use super::unseen_work;
use super::whole_run::{self, partial};
use crate::evidence::{Invocation, TestCounts, Verdict};
use kb_base::value::Json;
use serde_json::json;

impl TestClaim {
    /// The verdict over the claim, with the evidence. What a clause says besides can turn its result: one that was not
    /// understood as a whole refutes nothing.
    pub(super) fn check(
        self,
        runs: &RecordedRuns<'_>,
        commands: &TestCommands,
        edits: &LaterEdits<'_>,
    ) -> (Finding, Json) {
        let (finding, evidence) = self.checked(runs, commands, edits);
        // What follows a number of passed tests cannot make it that of a run where none was.
        let shows_results = |call: &Invocation| {
            call.process.as_ref().is_some_and(|process| process.tests.is_some())
                || !["fs:", "shell:", "git:"].iter().any(|own| call.tool.starts_with(own))
        };
        let is_understood = self.understood || self.leads && !edits.trace.iter().any(shows_results);
        match finding.reason.clone().filter(|_| !is_understood) {
            Some(reason) if finding.verdict == Verdict::Failed => {
                (Finding::inconclusive(reason), evidence)
            }
            _ => (finding, evidence),
        }
    }

    fn checked(
        self,
        runs: &RecordedRuns<'_>,
        commands: &TestCommands,
        edits: &LaterEdits<'_>,
    ) -> (Finding, Json) {
        let all = runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
        let tests: Vec<TestRun<'_>> = all
            .filter_map(|(run, used)| {
                let read = commands.read(&used.argv)?;
                Some(TestRun { run, used, read, result: run.result(used) })
            })
            .collect();
        let unclear = runs
            .iter()
            .rev()
            .find(|run| run.script.unparsed.as_ref().is_some_and(|text| commands.may_be_in(text)));
        let script = script_of_tests(runs, commands, edits);
        let printed = |run: &&RecordedRun<'_>| run.tests.is_some_and(|tests| tests.failed > 0);
        let last = tests.last().map(|test| test.run.at);
        let ended = unclear.filter(|run| run.exit_code() == Some(0));
        let later = [ended, script.map(|(run, _)| run)].into_iter().flatten();
        let later = later.max_by_key(|run| run.at).filter(|run| last.is_some_and(|at| at < run.at));
        let printed_failures = script.map(|(run, _)| run).filter(printed);
        let script = script.map(|(_, used)| used);
        let finding = match (tests.is_empty(), unclear, self.passed) {
            (true, None, true) if printed_failures.is_some() => Finding::failed(format!(
                "tests are claimed to have passed, but the output of call `{}` reports failed tests",
                printed_failures.map_or("", |run| &run.call.id)
            )),
            (true, Some(run), true) if printed(&run) => Finding::failed(format!(
                "tests are claimed to have passed, but the output of call `{}` reports failed tests",
                run.call.id
            )),
            (true, Some(run), _) => Finding::inconclusive(format!(
                "tests are claimed to have {}, but the script of call `{}` could not be analysed",
                self.name(),
                run.call.id
            )),
            (true, None, true) if script.is_some() => Finding::inconclusive(format!(
                "tests are claimed to have passed, but only the script `{}` ran, which is no known test command; if \
                 its exit code is enough, add it to `testCommands` in the settings",
                script.map(|used| used.argv.join(" ")).unwrap_or_default()
            )),
            (true, None, passed) => {
                let reason = format!(
                    "tests are claimed to have {}, but no recorded call ran a test command; other commands than \
                     the usual runners need an entry in `testCommands` of the settings",
                    self.name()
                );
                // A report that they did not pass can mean that they did not run.
                if passed {
                    unseen_work::unrecorded(reason, edits.trace)
                } else {
                    Finding::inconclusive(reason)
                }
            }
            (false, _, true) => self.passed(&tests, runs, commands, edits),
            (false, _, false) => self.failed(&tests, edits),
        };
        let finding = match later {
            Some(run) if self.passed && printed(&run) => Finding::failed(format!(
                "tests are claimed to have passed, but the output of call `{}` reports failed tests",
                run.call.id
            )),
            // The run that decides is one whose result is not known.
            Some(run)
                if finding.verdict == Verdict::Failed && edits.since(run, &run.text()).is_ok() =>
            {
                Finding::inconclusive(format!(
                    "{}; the later call `{}` (`{}`) could not be analysed",
                    finding.reason.unwrap_or_default(),
                    run.call.id,
                    run.text()
                ))
            }
            _ => finding,
        };
        let finding = if self.can_be_of_another_part(&tests) && finding.verdict == Verdict::Failed {
            Finding::inconclusive(finding.reason.unwrap_or_default())
        } else {
            finding
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

    /// Whether failed tests can be those of another part, which the output reports as failed: no run of the part that the
    /// claim names printed failed tests.
    fn can_be_of_another_part(self, tests: &[TestRun<'_>]) -> bool {
        let is_own = |test: &TestRun<'_>| {
            let name = test.name();
            let mut words = name.split(|c: char| !c.is_alphanumeric());
            words.any(|word| Some(word) == self.named)
        };
        let has_failed = |test: &TestRun<'_>| test.run.tests.is_some_and(|tests| tests.failed > 0);
        let own_failed = tests.iter().any(|test| is_own(test) && has_failed(test));
        self.part && self.passed && self.others_failed && !own_failed
    }

    /// The last run of all tests decides whose result is known. A run before an edit proves nothing, and a run of a
    /// part of the tests raises doubt.
    fn passed(
        self,
        tests: &[TestRun<'_>],
        runs: &RecordedRuns<'_>,
        commands: &TestCommands,
        edits: &LaterEdits<'_>,
    ) -> Finding {
        let mut doubt: Option<Finding> = None;
        for test in tests.iter().rev() {
            let (name, call) = (test.name(), &test.run.call.id);
            let counts = test.run.tests;
            // The number of failed tests is not said, or it is the rest of all.
            let only_passed = |counts: TestCounts| {
                let passed = self.counts.0.is_some() || self.rest && self.share.is_some();
                let rest = self.counts.1.is_none_or(|_| self.rest);
                passed && rest && !self.counts_differ(counts)
            };
            if let Some(counts) = counts.filter(|counts| counts.failed > 0 && only_passed(*counts))
            {
                return doubt.unwrap_or_else(|| {
                    Finding::inconclusive(format!(
                        "{} of the tests are claimed to have passed, and `{name}` (call `{call}`) reports {} failed too",
                        counts.passed, counts.failed
                    ))
                });
            }
            if let Some(failed) = counts.map(|counts| counts.failed).filter(|failed| *failed > 0) {
                let reason = format!(
                    "tests are claimed to have passed, but the output of `{name}` (call `{call}`) reports {failed} failed"
                );
                return doubt.unwrap_or_else(|| Finding::failed(reason));
            }
            let (finding, is_known) = match &test.result {
                CommandResult::Succeeded => {
                    let part = partial(test.run, test.used, &test.read, edits.root);
                    let finding = self.succeeded(test, runs, edits).err();
                    let finding = finding
                        .or_else(|| repeated(test, runs, commands, edits))
                        .or_else(|| left_out(self, test))
                        .or_else(|| failed_before(self, tests))
                        .or_else(|| of_another_kind(self, tests))
                        .or_else(|| suites_left_out(test, tests, edits))
                        .or_else(|| fewer(test, tests))
                        .or_else(|| self.uncounted(test))
                        .or_else(|| self.counts_twice(test))
                        .or_else(|| whole_run::doubt(test.run, test.used, &test.read, edits));
                    let Some(finding) = finding else { return Finding::passed() };
                    (finding, part.is_none())
                }
                CommandResult::Failed(_, reason) => (
                    Finding::failed(format!(
                        "tests are claimed to have passed, but `{name}` {reason} (call `{call}`)"
                    )),
                    true,
                ),
                CommandResult::FailedScript(reason) if counts.is_none() => (
                    Finding::failed(format!(
                        "tests are claimed to have passed, but the script with `{name}` {reason} (call \
                         `{call}`)"
                    )),
                    true,
                ),
                CommandResult::FailedScript(reason) => (
                    Finding::inconclusive(format!(
                        "the script with `{name}` {reason} (call `{call}`)"
                    )),
                    true,
                ),
                CommandResult::Masked(why) => (
                    Finding::inconclusive(format!(
                        "`{name}` ran in call `{call}`, but its exit code is not known: {why}"
                    )),
                    false,
                ),
                CommandResult::Unknown => {
                    let reason = format!("the outcome of `{name}` (call `{call}`) is unknown");
                    (Finding::inconclusive(reason), false)
                }
            };
            let first = doubt.get_or_insert(finding);
            if is_known {
                return first.clone();
            }
        }
        doubt.unwrap_or_else(|| Finding::inconclusive("no test run has a known result"))
    }

    /// Whether a run with exit code 0 shows that its tests pass.
    fn succeeded(
        self,
        test: &TestRun<'_>,
        runs: &RecordedRuns<'_>,
        edits: &LaterEdits<'_>,
    ) -> Result<(), Finding> {
        let (name, call) = (test.name(), &test.run.call.id);
        edits.check(test.run, test.used, &name)?;
        if test.run.tests.is_some_and(|counts| counts.ran() == 0) {
            return Err(Finding::failed(format!(
                "0 tests ran: `{name}` (call `{call}`) exited with code 0, but its output reports no \
                 test"
            )));
        }
        if let Some(counts) = test.run.tests.filter(|counts| self.counts_differ(*counts)) {
            let reason = format!(
                "the claimed numbers of tests differ from the output of `{name}` (call `{call}`): {} \
                 passed, {} failed",
                counts.passed, counts.failed
            );
            return Err(if self.is_sum_of(runs) {
                Finding::inconclusive(format!("{reason}; they are the sum of several runs"))
            } else if self.may_be_part_of(counts) {
                Finding::inconclusive(format!("{reason}; they may be those of a part"))
            } else {
                Finding::failed(reason)
            });
        }
        if let Some(option) = hides_failures(&test.read, &test.run.script.assigned) {
            return Err(Finding::inconclusive(format!(
                "`{name}` (call `{call}`) exited with code 0, but with `{option}` that may say nothing about \
                 all tests"
            )));
        }
        Ok(())
    }

    /// The doubt about claimed numbers beside a run that printed none.
    fn uncounted(self, test: &TestRun<'_>) -> Option<Finding> {
        (self.has_numbers() && test.run.tests.is_none()).then(|| {
            Finding::inconclusive(format!(
                "`{}` exited with code 0 (call `{}`), and its output reports no number of tests in a known form",
                test.name(),
                test.run.call.id
            ))
        })
    }

    /// The doubt about a number that is the sum of runs of the same tests in one script.
    fn counts_twice(self, test: &TestRun<'_>) -> Option<Finding> {
        let own = canonical(&test.used.argv);
        let known = TestCommands::of([]);
        let same = test.run.script.commands.iter().filter(|used| {
            let read = known.read(&used.argv);
            canonical(&used.argv) == own
                || read.is_some_and(|read| read.shares_language(&test.read))
        });
        let is_sum = test.run.tests.is_some_and(|counts| self.counts.0 == Some(counts.passed));
        (is_sum && same.count() > 1).then(|| {
            Finding::inconclusive(format!(
                "`{}` ran beside the same tests in call `{}`, and the claimed number may be the sum",
                test.name(),
                test.run.call.id
            ))
        })
    }

    /// Whether the claimed numbers differ from those of a run.
    pub(super) fn counts_differ(self, counts: TestCounts) -> bool {
        let differs = |claimed: Option<u64>, actual: u64| claimed.is_some_and(|c| c != actual);
        differs(self.counts.0, counts.passed)
            || differs(self.counts.1, counts.failed)
            || self.share_differs(counts)
    }

    /// Whether the claimed numbers can be those of a part of a run, or of the tests in the packages that it counts.
    fn may_be_part_of(self, counts: TestCounts) -> bool {
        let fits = |claimed| counts.may_be(claimed) || self.part && claimed < counts.passed;
        self.counts.0.is_none_or(fits)
            && self.counts.1.is_none_or(|own| self.can_have_failed(own, counts))
            && (self.part || !self.share_differs(counts))
    }

    /// Whether the claimed number of passed tests is the sum of the last runs of different scripts.
    fn is_sum_of(self, runs: &RecordedRuns<'_>) -> bool {
        let is_last = |run: &&RecordedRun<'_>| {
            !runs.iter().any(|later| later.at > run.at && later.text() == run.text())
        };
        let passed = |run: &RecordedRun<'_>| run.tests.map(|counts| counts.passed);
        let all: Vec<u64> = runs.iter().filter(is_last).filter_map(passed).collect();
        all.len() > 1 && self.counts.0 == Some(all.iter().sum())
    }
}

/// The last command that can have run tests behind a script: code of the project whose output has results of tests, also where
/// its exit code is hidden.
fn script_of_tests<'r>(
    runs: &'r RecordedRuns<'r>,
    commands: &TestCommands,
    edits: &LaterEdits<'_>,
) -> Option<(&'r RecordedRun<'r>, &'r CommandUse)> {
    let scripts = runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
    scripts.rev().find(|(run, used)| {
        let reports = run.tests.is_some_and(|tests| tests.ran() > 0);
        let may_run = || runs_script(&used.argv, edits.trace, commands);
        let executes = || executes_project(&used.argv) || names_runner(&used.argv);
        match run.result(used) {
            CommandResult::Succeeded => may_run() || reports && executes(),
            CommandResult::Masked(_) => reports && (may_run() || executes()),
            CommandResult::Failed(..) | CommandResult::FailedScript(_) | CommandResult::Unknown => {
                false
            }
        }
    })
}

/// Whether a command executes a script in which tests can run: one among the tests, or one that the step wrote with a
/// test command in it.
fn runs_script(argv: &[String], trace: &[Invocation], commands: &TestCommands) -> bool {
    let shells = ["sh", "bash", "dash", "zsh"];
    let script = argv.iter().find(|word| !shells.contains(&word.as_str()));
    let Some(script) = script.map(|word| word.trim_start_matches("./")) else { return false };
    let is_shell = argv.first().is_some_and(|program| shells.contains(&program.as_str()));
    let among_tests = script.split('/').rev().skip(1).any(|folder| folder.contains("test"));
    let is_path = |call: &Invocation| call.args.get("path").and_then(Json::as_str) == Some(script);
    let text =
        |call: &Invocation| call.args.get("content").and_then(Json::as_str).map(str::to_owned);
    let wrote = trace.iter().filter(|call| is_path(call)).filter_map(text).next_back();
    let has_test = wrote.is_some_and(|text| commands.may_be_in(&text));
    (is_shell || argv[0].contains('/')) && (among_tests || has_test)
}
