//! Numbers of tests that an output states without a result: how many there are (`testResult: {count: 12}`, `numTests: 12`), and
//! numbers at the top level without a word for tests (`passed: 12`). They are those that the last run of tests printed.

use super::finding::Finding;
use super::keys::words;
use super::later_edits::LaterEdits;
use super::number_source::other_source;
use super::recorded_runs::{RecordedRun, RecordedRuns};
use super::runner::{TestCommands, executes_project, is_test_file, names_runner};
use super::test_claim::{Place, TestClaim, is_of_others};
use super::test_words::{Counted, PARTS, has, is_about_tests, number};
use crate::evidence::{Change, Invocation, TestCounts};
use kb_base::value::{Json, JsonMap};
use serde_json::json;

/// Most levels of objects that are read.
const DEPTH: usize = 8;

/// Numbers of tests in one object of an output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TestNumbers {
    passed: Option<u64>,
    failed: Option<u64>,
    /// The number of all.
    total: Option<u64>,
    /// Whether it counts those that ran; another number can be that of those that the step wrote.
    ran: bool,
    /// Whether its keys say that it is the number of all tests, so that another one refutes it.
    firm: bool,
}

/// The numbers of an output without a result of tests beside them.
pub(super) fn test_numbers(output: &Json, trace: &[Invocation]) -> Vec<TestNumbers> {
    let printed = Printed::of(trace);
    let mut found = Vec::new();
    collect(output, Place::default(), 0, &printed, &mut found);
    let bare = printed.bare_fields(output);
    let of = |kinds: &[Counted]| {
        let mut own = bare.iter().filter(|(_, counted, _)| kinds.contains(counted));
        own.next().map(|(.., number)| *number)
    };
    let numbers = TestNumbers {
        passed: of(&[Counted::Passed]),
        failed: of(&[Counted::Failed]),
        total: of(&[Counted::Total, Counted::Ran]),
        ..TestNumbers::default()
    };
    found.extend((!bare.is_empty()).then_some(numbers));
    found
}

/// The keys at the top level whose numbers are those of tests without a word that says so.
pub(super) fn bare_keys(output: &Json, trace: &[Invocation]) -> Vec<String> {
    let bare = Printed::of(trace).bare_fields(output);
    bare.into_iter().map(|(key, ..)| key.to_owned()).collect()
}

/// The numbers of tests that the calls of a step printed.
struct Printed(Vec<TestCounts>);

impl Printed {
    fn of(trace: &[Invocation]) -> Printed {
        Printed(trace.iter().filter_map(|call| call.process.as_ref()?.tests).collect())
    }

    fn has_total(&self, number: u64) -> bool {
        self.0.iter().any(|own| is_total(number, *own))
    }

    /// Numbers such as `passed: 12` beside a run. What `total: 12` alone counts is open: it is read if a run printed it.
    fn bare_fields<'o>(&self, output: &'o Json) -> Vec<(&'o str, Counted, u64)> {
        let fields = output.as_object().filter(|_| !self.0.is_empty()).into_iter().flatten();
        let bare = fields.filter_map(|(key, value)| {
            let words = words(key);
            let counted = Counted::of(&words).filter(|_| !is_about_tests(&words))?;
            Some((key.as_str(), counted, number(value)?))
        });
        let bare = bare.filter(|(_, counted, number)| match counted {
            Counted::Passed | Counted::Failed => true,
            Counted::Total | Counted::Ran => self.has_total(*number),
            Counted::Unsaid => false,
        });
        bare.collect()
    }

    /// The number of all tests in an object that states no other numbers of tests. Of `tests: 3`, which can be those that were
    /// written, it is read if a run printed it.
    fn total_of(&self, fields: &JsonMap, place: Place) -> Option<TestNumbers> {
        let mut numbers = Vec::new();
        let mut firm = !place.part && !place.unclear;
        for (key, value) in fields.iter().filter(|(key, _)| !is_of_others(key)) {
            let words = words(key);
            let is_own = place.tests || is_about_tests(&words);
            let Some(number) = number(value).filter(|_| is_own) else { continue };
            match Counted::of(&words) {
                Some(Counted::Passed | Counted::Failed) => return None,
                Some(counted @ (Counted::Total | Counted::Ran)) => {
                    firm &= !has(&words, PARTS);
                    numbers.push((counted, number));
                }
                Some(Counted::Unsaid) if self.has_total(number) => {
                    numbers.push((Counted::Unsaid, number));
                }
                Some(Counted::Unsaid) | None => firm = false,
            }
        }
        let (_, total) = *numbers.first()?;
        // Several numbers can be about different tests.
        let firm = firm && numbers.iter().all(|(_, number)| *number == total);
        let ran = numbers.iter().any(|(counted, _)| *counted == Counted::Ran);
        Some(TestNumbers { total: Some(total), ran, firm, ..TestNumbers::default() })
    }
}

fn collect(
    value: &Json,
    place: Place,
    depth: usize,
    printed: &Printed,
    found: &mut Vec<TestNumbers>,
) {
    // An entry of a list is about one test, or one run.
    let Some(fields) = value.as_object().filter(|_| depth < DEPTH) else { return };
    found.extend(printed.total_of(fields, place));
    for (key, value) in fields.iter().filter(|(key, _)| !is_of_others(key)) {
        collect(value, place.below(key), depth + 1, printed, found);
    }
}

/// Whether a number of all tests is that of a run, with or without the tests that it left out.
fn is_total(number: u64, counts: TestCounts) -> bool {
    [counts.ran(), counts.ran().saturating_add(counts.skipped)].contains(&number)
}

impl TestNumbers {
    /// The verdict over the numbers, with the evidence. `checked`: what the checks of the gate printed that ran tests.
    pub(super) fn check(
        self,
        runs: &RecordedRuns<'_>,
        commands: &TestCommands,
        edits: &LaterEdits<'_>,
        checked: &[TestCounts],
    ) -> (Finding, Json) {
        let all: Vec<&RecordedRun<'_>> =
            runs.iter().filter(|run| can_run_tests(run, commands)).collect();
        let last = all.iter().rev().find_map(|run| Some((*run, run.tests?)));
        let Some((run, counts)) = last else {
            let finding = match checked.iter().any(|counts| self.fits(*counts)) {
                true => Finding::passed(),
                false => Finding::inconclusive(
                    "a number of tests is claimed, and no recorded run of tests printed one in a known form",
                ),
            };
            return (finding, Json::Null);
        };
        let evidence = json!({"calls": [run.call.id], "tests": counts});
        if self.fits(counts) {
            let finding = match doubted_numbers(run, commands) {
                Some(why) => Finding::inconclusive(format!(
                    "the claimed numbers of tests are in the output of call `{}`, but {why}",
                    run.call.id
                )),
                None => Finding::passed(),
            };
            return (finding, evidence);
        }
        let reason = format!(
            "the claimed numbers of tests differ from the output of `{}` (call `{}`): {} passed, {} failed",
            run.text(),
            run.call.id,
            counts.passed,
            counts.failed
        );
        let printed = || all.iter().filter_map(|run| run.tests).chain(checked.iter().copied());
        let uncounted = |later: &&RecordedRun<'_>| {
            later.at > run.at && later.tests.is_none() && names_tests(later, commands)
        };
        let is_open = !self.firm
            || printed().any(|counts| self.may_be_of(counts))
            || self.total == Some(printed().map(TestCounts::ran).sum())
            || all.iter().any(uncounted)
            || edits.since(run, &run.text()).is_err()
            || !self.ran && edits.trace.iter().flat_map(|call| &call.changes).any(is_test);
        let finding = if is_open { Finding::inconclusive(reason) } else { Finding::failed(reason) };
        (finding, evidence)
    }

    /// The result that the numbers say without a word for tests: `passed: 12`.
    pub(super) fn result(self) -> Option<TestClaim> {
        let passed = self.failed.unwrap_or(0) == 0;
        let counts = (self.passed, self.failed);
        (counts != (None, None)).then(|| TestClaim { counts, ..TestClaim::of_result(passed) })
    }

    /// Whether the numbers are those of a run.
    fn fits(self, counts: TestCounts) -> bool {
        let failed = [counts.failed, counts.failed.saturating_add(counts.skipped)];
        self.passed.is_none_or(|own| own == counts.passed)
            && self.failed.is_none_or(|own| failed.contains(&own))
            && self.total.is_none_or(|own| is_total(own, counts))
    }

    /// Whether the number of all tests can be another one of a run: of those that passed, of one of several summaries, or of
    /// the tests in packages.
    fn may_be_of(self, counts: TestCounts) -> bool {
        let can_be = |own| is_total(own, counts) || counts.may_be(own);
        self.total.is_none_or(can_be)
    }
}

fn is_test(change: &Change) -> bool {
    !change.same_content && is_test_file(&change.path)
}

/// Why the numbers in the output of a script need not be those of its test command, as a fragment.
fn doubted_numbers(run: &RecordedRun<'_>, commands: &TestCommands) -> Option<String> {
    let mut tests = run.script.commands.iter().rev();
    other_source(&run.script, tests.find(|used| commands.contains(&used.argv))?)
}

fn names_tests(run: &RecordedRun<'_>, commands: &TestCommands) -> bool {
    run.script.commands.iter().any(|used| commands.contains(&used.argv))
        || run.script.unparsed.as_ref().is_some_and(|text| commands.may_be_in(text))
}

/// Whether a recorded process can have run tests, and not only printed a text about them.
fn can_run_tests(run: &RecordedRun<'_>, commands: &TestCommands) -> bool {
    let executes = |argv: &[String]| executes_project(argv) || names_runner(argv);
    names_tests(run, commands) || run.script.commands.iter().any(|used| executes(&used.argv))
}
