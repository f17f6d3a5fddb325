//! What the command checks of a gate that ran tests themselves say about a claim.

use super::check::{CommandCriterion, Criterion, Facts};
use super::finding::Finding;
use super::gate::Gate;
use super::observation::{CommandEnd, CommandRun, Observation};
use super::runner::{TestCommands, TestUse};
use super::test_claim::TestClaim;
use crate::evidence::{TestCounts, Verdict};

/// A command check of a gate that ran tests.
struct CheckRun<'g> {
    criterion: &'g Criterion,
    command: &'g CommandCriterion,
    test: TestUse<'g>,
    run: &'g CommandRun,
    counts: Option<TestCounts>,
}

/// The command checks of a gate that ran a test command.
fn check_runs<'g>(gate: &'g Gate, facts: &'g Facts<'_>) -> impl Iterator<Item = CheckRun<'g>> {
    gate.criteria.iter().filter_map(|criterion| {
        let command = criterion.command()?;
        let test = facts.test_commands.read(&command.argv)?;
        let (run, counts) = observed(command, facts)?;
        Some(CheckRun { criterion, command, test, run, counts })
    })
}

/// The run of a command check, with the numbers of tests that it printed.
fn observed<'g>(
    command: &CommandCriterion,
    facts: &'g Facts<'_>,
) -> Option<(&'g CommandRun, Option<TestCounts>)> {
    let Some(Observation::Command(run)) = facts.observations.get(&command.query()) else {
        return None;
    };
    Some((run, run.process.as_ref().and_then(|process| process.tests)))
}

/// The numbers of tests that command checks of the gate printed.
pub(super) fn printed_by_checks(gate: &Gate, facts: &Facts<'_>) -> Vec<TestCounts> {
    check_runs(gate, facts).filter_map(|check| check.counts).collect()
}

/// A command check that the author calls tests, with `tests` or in `testCommands`, that ended with 0 and printed no numbers.
fn uncounted(gate: &Gate, facts: &Facts<'_>) -> Option<String> {
    gate.criteria.iter().filter_map(Criterion::command).find_map(|command| {
        let named = || facts.test_commands.read(&command.argv).is_some_and(|test| test.named);
        if command.tests.is_none() && !named() {
            return None;
        }
        let (run, counts) = observed(command, facts)?;
        (run.ended == CommandEnd::Code(0) && counts.is_none()).then(|| {
            format!(
                "tests are claimed to have passed; the check `{}` ended with 0 and printed no numbers of tests",
                command.argv.join(" ")
            )
        })
    })
}

impl TestClaim {
    /// What a command check of the gate that ran tests itself shows: that they passed, or only a part of them.
    pub(super) fn shown_by_checks(self, gate: &Gate, facts: &Facts<'_>) -> Option<Finding> {
        if !self.passed || self.integration {
            return None;
        }
        // What the settings call the tests can be a part of them, and is not all of them then.
        let declared = TestCommands::of(gate.test_commands.iter().map(String::as_str));
        let usual = TestCommands::of([]);
        let mut part = None;
        for CheckRun { criterion, command, test, run, counts } in check_runs(gate, facts) {
            let fits = match counts {
                Some(counts) => {
                    counts.failed == 0 && counts.ran() > 0 && !self.counts_differ(counts)
                }
                None => test.named && !self.has_numbers(),
            };
            let passed = run.ended == CommandEnd::Code(0)
                && fits
                && test.hiding_option().is_none()
                && criterion.evaluate(facts).verdict == Verdict::Passed;
            if !passed {
                continue;
            }
            let selected = usual.read(&command.argv);
            let selected = selected.as_ref().and_then(|test| test.part(counts));
            let is_declared = declared.read(&command.argv).is_some_and(|test| test.named);
            match selected {
                Some(selected) if !is_declared || self.all => {
                    part = Some(format!(
                        "tests are claimed to have passed, but the check `{}` may run a part of them ({selected})",
                        command.argv.join(" ")
                    ));
                }
                _ => return Some(Finding::passed()),
            }
        }
        part.or_else(|| uncounted(gate, facts)).map(Finding::inconclusive)
    }

    /// A finding that no recorded call shows, with the numbers of tests that a command check of the gate itself printed.
    pub(super) fn with_checks(self, finding: Finding, gate: &Gate, facts: &Facts<'_>) -> Finding {
        let printed = |check: CheckRun<'_>| {
            let counts = check.counts?;
            Some(format!(
                "the check `{}` of this gate reports {} passed and {} failed",
                check.command.argv.join(" "),
                counts.passed,
                counts.failed
            ))
        };
        let printed: Vec<String> = check_runs(gate, facts).filter_map(printed).collect();
        match finding.reason.clone().filter(|_| !printed.is_empty()) {
            Some(reason) => finding.with_reason(format!("{reason}; {}", printed.join(", "))),
            None => finding,
        }
    }
}
