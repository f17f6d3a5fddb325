//! The proof of a claim that tests failed.

use super::finding::Finding;
use super::later_edits::LaterEdits;
use super::recorded_runs::CommandResult;
use super::test_claim::TestClaim;
use super::test_doubt::TestRun;
use crate::evidence::TestCounts;

impl TestClaim {
    /// `testResult: failed` needs a recorded run that failed, with the claimed numbers if it printed some.
    pub(super) fn failed(self, tests: &[TestRun<'_>], edits: &LaterEdits<'_>) -> Finding {
        let counts = |test: &TestRun<'_>| test.run.tests.filter(|counts| counts.failed > 0);
        let is_failed = |test: &&TestRun<'_>| {
            let ended =
                matches!(test.result, CommandResult::Failed(..) | CommandResult::FailedScript(_));
            counts(test).is_some() || ended
        };
        let failing: Vec<&TestRun<'_>> = tests.iter().filter(is_failed).collect();
        let fits =
            |test: &&TestRun<'_>| counts(test).is_none_or(|known| !self.counts_differ(known));
        if let Some(test) = failing.iter().rfind(|test| fits(test)) {
            // What failed before an edit, or passed since, can be an earlier state.
            let repeated = tests.iter().any(|other| {
                other.run.at > test.run.at && other.result == CommandResult::Succeeded
            });
            if repeated {
                return Finding::inconclusive(format!(
                    "tests are claimed to have failed, and a later run than `{}` succeeded",
                    test.name()
                ));
            }
            return match edits.check(test.run, test.used, &test.name()) {
                Ok(()) => Finding::passed(),
                Err(_) => Finding::inconclusive(format!(
                    "tests are claimed to have failed, and files were edited after the run of `{}` that failed (call `{}`)",
                    test.name(),
                    test.run.call.id
                )),
            };
        }
        if let Some(test) = failing.last() {
            let known = counts(test).map_or((0, 0), |known| (known.passed, known.failed));
            let reason = format!(
                "the claimed numbers of tests differ from the output of `{}` (call `{}`): {} passed, {} failed",
                test.name(),
                test.run.call.id,
                known.0,
                known.1
            );
            return match failing.len() {
                1 => Finding::failed(reason),
                _ => {
                    Finding::inconclusive(format!("{reason}; they can be the sum of several runs"))
                }
            };
        }
        let succeeded = tests.iter().rfind(|test| test.result == CommandResult::Succeeded);
        match succeeded {
            // What did not pass was left out: `5/7` beside 5 passed and 2 skipped.
            Some(test)
                if self.rest && test.run.tests.is_some_and(|run| self.is_without_failure(run)) =>
            {
                Finding::inconclusive(format!(
                    "not all tests are claimed to have passed, and `{}` left some out (call `{}`)",
                    test.name(),
                    test.run.call.id
                ))
            }
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

    /// Whether a run has the claimed number of passed tests, and left out as many as did not pass.
    fn is_without_failure(self, counts: TestCounts) -> bool {
        let failed = |own| self.can_have_failed(own, counts);
        self.counts.0 == Some(counts.passed) && self.counts.1.is_none_or(failed)
    }
}
