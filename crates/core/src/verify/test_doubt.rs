//! Doubts about a test run that exited with 0: what failed beside it, and which tests it left out.

use super::finding::Finding;
use super::later_edits::LaterEdits;
use super::recorded_runs::{CommandResult, RecordedRun, RecordedRuns};
use super::runner::{TestCommands, TestUse, executes_project};
use super::shell::CommandUse;
use super::suites;
use super::test_claim::TestClaim;
use crate::evidence::TestCounts;
use kb_base::value::counted;

/// A recorded run of a test command.
pub(super) struct TestRun<'a> {
    pub(super) run: &'a RecordedRun<'a>,
    pub(super) used: &'a CommandUse,
    pub(super) read: TestUse<'a>,
    pub(super) result: CommandResult,
}

impl TestRun<'_> {
    pub(super) fn name(&self) -> String {
        self.used.argv.join(" ")
    }
}

/// An earlier run of the same command that ran more tests.
pub(super) fn fewer(proof: &TestRun<'_>, tests: &[TestRun<'_>]) -> Option<Finding> {
    let ran = |test: &TestRun<'_>| test.run.tests.map(TestCounts::ran);
    let now = ran(proof)?;
    let earlier = tests.iter().filter(|test| {
        let same = match proof.read.runner() {
            Some(runner) => test.read.runner() == Some(runner) && test.used.cwd == proof.used.cwd,
            None => test.used.argv == proof.used.argv,
        };
        same && test.run.at < proof.run.at && ran(test) > Some(now)
    });
    let most = earlier.max_by_key(|test| ran(test))?;
    Some(Finding::inconclusive(format!(
        "`{}` ran {now} tests, and {} before (call `{}`)",
        proof.name(),
        ran(most).unwrap_or_default(),
        most.run.call.id
    )))
}

/// Another check that failed on the same files and was not repeated.
pub(super) fn repeated(
    proof: &TestRun<'_>,
    runs: &RecordedRuns<'_>,
    commands: &TestCommands,
    edits: &LaterEdits<'_>,
) -> Option<Finding> {
    let all = runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
    let (run, used) = all.rev().find(|(run, used)| {
        used.argv != proof.used.argv && is_open_failure(run, used, runs, commands, edits)
    })?;
    Some(Finding::inconclusive(format!(
        "`{}` succeeded, but `{}` failed on the same files (call `{}`) and was not repeated",
        proof.name(),
        used.argv.join(" "),
        run.call.id
    )))
}

/// Whether a check of the project failed on the files as the step left them and was not repeated.
fn is_open_failure(
    run: &RecordedRun<'_>,
    used: &CommandUse,
    runs: &RecordedRuns<'_>,
    commands: &TestCommands,
    edits: &LaterEdits<'_>,
) -> bool {
    let name = used.argv.join(" ");
    is_unrepeated_failure(run, used, runs, commands) && edits.check(run, used, &name).is_ok()
}

/// Whether a check of the project failed and was not repeated: a test command, or a command that executes code of the
/// project.
pub(super) fn is_unrepeated_failure(
    run: &RecordedRun<'_>,
    used: &CommandUse,
    runs: &RecordedRuns<'_>,
    commands: &TestCommands,
) -> bool {
    let all = || runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
    let test = commands.read(&used.argv);
    let is_check = test.is_some() || executes_project(&used.argv);
    let last = all().rfind(|(_, other)| other.argv == used.argv).map(|(other, _)| other.at);
    let reported = run.tests.is_some_and(|counts| counts.failed > 0);
    let failed = matches!(run.result(used), CommandResult::Failed(..)) || reported;
    is_check && failed && last == Some(run.at) && !is_part_of_later(run, used, runs, commands)
}

/// Whether a later run of all tests of the same runner succeeded: it repeats a part of them.
pub(super) fn is_part_of_later(
    run: &RecordedRun<'_>,
    used: &CommandUse,
    runs: &RecordedRuns<'_>,
    commands: &TestCommands,
) -> bool {
    let test = commands.read(&used.argv);
    let Some(runner) = test.as_ref().and_then(TestUse::runner) else { return false };
    let mut later = runs.iter().filter(|later| later.at > run.at);
    later.any(|later| {
        let mut all = later.script.commands.iter().filter(|other| {
            let read = commands.read(&other.argv).filter(|read| read.part(later.tests).is_none());
            read.as_ref().and_then(TestUse::runner) == Some(runner)
        });
        all.any(|other| later.result(other) == CommandResult::Succeeded)
    })
}

/// Tests of the project that the run cannot have executed, and that no other successful one did.
pub(super) fn suites_left_out(
    proof: &TestRun<'_>,
    tests: &[TestRun<'_>],
    edits: &LaterEdits<'_>,
) -> Option<Finding> {
    let succeeded = |test: &&TestRun<'_>| {
        let name = test.name();
        test.result == CommandResult::Succeeded && edits.check(test.run, test.used, &name).is_ok()
    };
    let others: Vec<_> = tests.iter().filter(succeeded).map(|test| &test.read).collect();
    let left = suites::left_out(&proof.read, &others, edits.observations)?;
    Some(Finding::inconclusive(format!(
        "`{}` succeeded, and it does not run {left}; if it is all that has to pass, add it to `testCommands` in the \
         settings",
        proof.name()
    )))
}

/// Tests that were left out, if the claim says that all of them passed.
pub(super) fn left_out(claim: TestClaim, proof: &TestRun<'_>) -> Option<Finding> {
    let skipped = proof.run.tests.map_or(0, |counts| counts.skipped);
    ((claim.all || claim.complete) && skipped > 0).then(|| {
        let were = counted(skipped as usize, "test");
        Finding::inconclusive(format!(
            "all tests are claimed to have passed, and `{}` left out {were}",
            proof.name()
        ))
    })
}

/// A run that failed, if the claim says that no test did.
pub(super) fn failed_before(claim: TestClaim, tests: &[TestRun<'_>]) -> Option<Finding> {
    let reports = |test: &&TestRun<'_>| test.run.tests.is_some_and(|counts| counts.failed > 0);
    let failed = tests.iter().find(reports).filter(|_| claim.never)?;
    Some(Finding::inconclusive(format!(
        "no test is claimed to have failed, and an earlier run of `{}` reports failed tests (call `{}`)",
        failed.name(),
        failed.run.call.id
    )))
}

/// Integration tests, if no command that ran says that it runs them.
pub(super) fn of_another_kind(claim: TestClaim, tests: &[TestRun<'_>]) -> Option<Finding> {
    let names_them = |test: &TestRun<'_>| test.name().contains("integration");
    (claim.integration && !tests.iter().any(names_them)).then(|| {
        Finding::inconclusive(
            "integration tests are claimed to have passed, and which of the tests that ran are some is not known",
        )
    })
}
