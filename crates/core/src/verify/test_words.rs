//! The words of keys about the results of tests, and what the numbers below them count.

use kb_base::value::Json;

/// Words of keys about the result of tests. A key with another word is about something else.
pub(super) const WORDS: [&str; 31] = [
    "test",
    "tests",
    "testing",
    "testsuite",
    "suite",
    "result",
    "results",
    "status",
    "outcome",
    "success",
    "passed",
    "passing",
    "pass",
    "failed",
    "failing",
    "fail",
    "failures",
    "of",
    "all",
    "summary",
    "ok",
    "green",
    "unit",
    "integration",
    "run",
    "ran",
    "total",
    "count",
    "num",
    "number",
    "executed",
];
pub(super) const TESTS: &[&str] = &["test", "tests", "testing", "testsuite"];
const PASSED: &[&str] = &["passed", "passing", "pass"];
pub(super) const FAILED: &[&str] = &["failed", "failing", "fail", "failures"];
const TOTAL: &[&str] = &["total", "count", "num", "of"];
const RAN: &[&str] = &["run", "ran", "executed"];
/// Words that are no results of a run: `test_total: passed` is about a test with this name.
pub(super) const NUMBERS: &[&str] = &["total", "count", "num", "number", "of", "executed"];
/// Words of keys about a part of the tests.
pub(super) const PARTS: &[&str] = &["unit", "integration"];

/// What a number below a key counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Passed,
    Failed,
    /// All tests, as a word of the key says: `testCount`, `numTests`.
    Total,
    /// All tests that ran.
    Ran,
    /// Tests, without a word for which ones: `tests: 12`.
    Unsaid,
}

impl Counted {
    /// By the words of a key; `None` if one of them is not about the result of tests.
    pub(super) fn of(words: &[String]) -> Option<Counted> {
        let is_known = words.iter().all(|word| WORDS.contains(&word.as_str()));
        is_known.then(|| match () {
            () if has(words, FAILED) => Counted::Failed,
            () if has(words, PASSED) => Counted::Passed,
            () if has(words, RAN) => Counted::Ran,
            () if has(words, TOTAL) => Counted::Total,
            () => Counted::Unsaid,
        })
    }
}

pub(super) fn is_about_tests(words: &[String]) -> bool {
    has(words, TESTS) && words.iter().all(|word| WORDS.contains(&word.as_str()))
}

pub(super) fn has(words: &[String], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(&word.as_str()))
}

/// A number, also one in a text, such as `"12"`.
pub(super) fn number(value: &Json) -> Option<u64> {
    let plain = |text: &&str| !text.starts_with(['0', '+']) || *text == "0";
    value.as_u64().or_else(|| value.as_str().filter(plain)?.parse().ok())
}
