//! Numbers of tests, from the summaries that test runners print.
//!
//! Recognised: libtest, nextest, pytest, unittest, jest, vitest, mocha, go test, TAP, JUnit (Maven and
//! XML), rspec, phpunit, ctest, dotnet, deno, bun. Start at [`TestCounts::in_output`].

use serde::{Deserialize, Serialize};

/// How many tests ran, according to the output of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TestCounts {
    /// Tests that passed. For `go test` without `-v`, packages.
    pub passed: u64,
    /// Tests that failed or ended with an error.
    pub failed: u64,
    /// Tests that were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Tests that a selection left out, according to the runner: `deselected`, `filtered out`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deselected: u64,
    /// Number of summaries with tests that these are the sum of, if there are several.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub summaries: u64,
    /// How many of those that passed are packages with an unknown number of tests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub packages: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Maximum number of lines that are searched, from the end.
const LINES: usize = 5_000;

impl TestCounts {
    /// The sum of the summaries in an output; `None` if there is none in a known form.
    pub fn in_output(stdout: &str, stderr: &str) -> Option<TestCounts> {
        let mut found = Found::default();
        for stream in [stdout, stderr] {
            let skipped = stream.lines().count().saturating_sub(LINES);
            stream.lines().skip(skipped).for_each(|line| found.line(&without_colors(line)));
        }
        found.counts()
    }

    /// Number of tests that ran.
    pub fn ran(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    /// Whether a number of passed tests can be right beside these: that of one of several summaries, or of the tests in
    /// packages.
    pub fn may_be(self, passed: u64) -> bool {
        passed == self.passed
            || self.summaries > 1 && passed < self.passed
            || self.packages > 0 && passed > self.passed
    }

    fn add(&mut self, other: TestCounts) {
        let ran = |counts: TestCounts| u64::from(counts.ran() > 0).max(counts.summaries);
        let summaries = ran(*self) + ran(other);
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.deselected = self.deselected.saturating_add(other.deselected);
        self.packages = self.packages.saturating_add(other.packages);
        self.summaries = if summaries > 1 { summaries } else { 0 };
    }
}

/// What the lines so far contain.
#[derive(Default)]
struct Found {
    /// Summaries that count once each.
    sum: Option<TestCounts>,
    /// The last line `Tests run: …`, because Maven prints one for each class and one for all.
    maven: Option<TestCounts>,
    go: Option<TestCounts>,
    /// `ok 1` and `not ok 2` of TAP, which count only after a plan.
    tap: TestCounts,
    has_plan: bool,
    /// `Ran N tests` of unittest, whose result is on a later line.
    unittest: Option<u64>,
    /// Whether `make` had nothing to do, and the number of lines with a text.
    idle: bool,
    lines: usize,
    /// The summary whose numbers are on lines of their own, as node, mocha and bun print it.
    open: Option<TestCounts>,
}

impl Found {
    fn add(&mut self, passed: u64, failed: u64, skipped: u64) {
        let counts = TestCounts { passed, failed, skipped, ..TestCounts::default() };
        self.sum.get_or_insert_default().add(counts);
    }

    /// Adds tests that a selection left out.
    fn deselect(&mut self, deselected: u64) {
        self.sum.get_or_insert_default().deselected += deselected;
    }

    /// A line of a summary with one number on each line. The number of passed tests is on its first one.
    fn add_line(&mut self, passed: Option<u64>, failed: u64, skipped: u64) {
        if passed.is_some() {
            self.close();
        }
        let open = self.open.get_or_insert_default();
        open.passed += passed.unwrap_or(0);
        open.failed += failed;
        open.skipped += skipped;
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.sum.get_or_insert_default().add(open);
        }
    }

    fn counts(mut self) -> Option<TestCounts> {
        self.close();
        // Among other lines it says something about a part of the targets.
        if self.idle && self.lines == 1 {
            self.add(0, 0, 0);
        }
        let Found { sum, maven, go, tap, has_plan, unittest, .. } = self;
        let unittest = unittest.map(|passed| TestCounts { passed, ..TestCounts::default() });
        // `node --test` prints a summary after the TAP lines.
        let tap = has_plan.then_some(tap).filter(|_| sum.is_none());
        let all = [sum, maven, go, tap, unittest].into_iter().flatten();
        all.reduce(|mut all, counts| {
            all.add(counts);
            all
        })
    }

    fn line(&mut self, line: &str) {
        let text = line.trim();
        self.lines += usize::from(!text.is_empty());
        self.idle |= text.starts_with("make: ")
            && (text.ends_with("is up to date.") || text.contains("Nothing to be done for"));
        if self.no_tests(text) {
        } else if text.starts_with("test result: ") {
            let (passed, failed) = (before(text, "passed"), before(text, "failed"));
            self.add(passed, failed, before(text, "ignored"));
            self.deselect(before(text, "filtered out"));
        } else if text.starts_with("Summary [") && text.contains(" run: ") {
            let failed = before(text, "failed") + before(text, "timed out");
            self.add(before(text, "passed"), failed, before(text, "skipped"));
        } else if let Some(rest) = text.strip_prefix("Tests:").or(text.strip_prefix("Tests  ")) {
            self.jest_or_phpunit(rest);
        } else if let Some(rest) = text.split_once("Tests run: ").map(|(_, rest)| rest) {
            let (run, skipped) = (first(rest), after(rest, "Skipped:"));
            let failed = after(rest, "Failures:") + after(rest, "Errors:");
            let passed = run.saturating_sub(failed + skipped);
            self.maven = Some(TestCounts { passed, failed, skipped, ..TestCounts::default() });
        } else if text.starts_with("<testsuites ") || text.starts_with("<testsuite ") {
            self.junit(text);
        } else if text.starts_with("Ran ") && text.contains(" test") && text.contains(" in ") {
            let earlier = self.unittest.replace(first(text));
            earlier.into_iter().for_each(|ran| self.add(ran, 0, 0));
        } else if text.starts_with("FAILED (") && self.unittest.is_some() {
            let failed = after(text, "failures=") + after(text, "errors=");
            let ran = self.unittest.take().unwrap_or(0);
            let skipped = after(text, "skipped=");
            self.add(ran.saturating_sub(failed + skipped), failed, skipped);
        } else if text.starts_with("OK (") && text.contains('=') && self.unittest.is_some() {
            let ran = self.unittest.take().unwrap_or(0);
            let skipped = after(text, "skipped=");
            // Tests that are expected to fail ran, and did not pass.
            let expected = after(text, "expected failures=");
            self.add(ran.saturating_sub(skipped), 0, skipped + expected);
        } else if text.contains(" tests failed out of ") {
            let (failed, all) = (before(text, "tests failed"), after(text, "out of"));
            self.add(all.saturating_sub(failed), failed, 0);
        } else if text.contains("Failed:") && text.contains("Passed:") && text.contains("Total:") {
            self.add(after(text, "Passed:"), after(text, "Failed:"), after(text, "Skipped:"));
        } else if text.starts_with("OK (") && text.contains(" assertion") {
            self.add(before(text, "test"), 0, 0);
        } else if text.contains(" example") && text.contains(" failure") {
            let (all, failed) = (before(text, "example"), before(text, "failure"));
            self.add(all.saturating_sub(failed), failed, 0);
        } else if !self.node_or_mocha(text) && !self.pytest(text) {
            self.tap_or_go(text, line);
        }
    }

    /// Messages of runners that found no test.
    fn no_tests(&mut self, text: &str) -> bool {
        const NONE: [&str; 5] = [
            "No tests found",
            "No test files found",
            "No tests were found",
            "NO TESTS RAN",
            "No tests executed!",
        ];
        if NONE.iter().any(|none| text.starts_with(none)) {
            self.add(0, 0, 0);
        } else if text.ends_with("[no test files]") {
            self.go.get_or_insert_default();
        } else {
            // `go test` reports a package with a cached result without a number.
            return !text.contains(|c: char| c.is_ascii_digit()) && !text.ends_with("(cached)");
        }
        true
    }

    /// `Tests: 1 failed, 2 passed, 3 total`, `Tests  2 passed (2)`, `Tests: 3, Assertions: 3.`
    fn jest_or_phpunit(&mut self, rest: &str) {
        if rest.contains("Assertions:") {
            let failed = after(rest, "Failures:") + after(rest, "Errors:");
            self.add(first(rest).saturating_sub(failed), failed, after(rest, "Skipped:"));
        } else if ["passed", "failed", "total", "skipped"].iter().any(|word| rest.contains(word)) {
            self.add(before(rest, "passed"), before(rest, "failed"), before(rest, "skipped"));
        }
    }

    fn junit(&mut self, text: &str) {
        let value = |name: &str| {
            let rest = text.split_once(&format!(" {name}=\"")).map(|(_, rest)| rest);
            rest.map_or(0, first)
        };
        if text.starts_with("<testsuite ") && self.has_plan {
            return;
        }
        let failed = value("failures") + value("errors");
        let skipped = value("skipped");
        self.add(value("tests").saturating_sub(failed + skipped), failed, skipped);
        // The total of `<testsuites>` contains each `<testsuite>`.
        self.has_plan |= text.starts_with("<testsuites ");
    }

    /// `# pass 3` of node, `3 passing (10ms)` of mocha, `3 pass` of bun.
    fn node_or_mocha(&mut self, text: &str) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["#" | "ℹ", "pass", count] => self.add_line(Some(count.parse().unwrap_or(0)), 0, 0),
            ["#" | "ℹ", "fail", count] => self.add_line(None, count.parse().unwrap_or(0), 0),
            ["#" | "ℹ", "skipped" | "todo", count] => {
                self.add_line(None, 0, count.parse().unwrap_or(0));
            }
            [count, "passing" | "pass", ..] if words.len() <= 3 => match count.parse() {
                Ok(count) => self.add_line(Some(count), 0, 0),
                Err(_) => return false,
            },
            [count, "failing" | "fail"] => match count.parse() {
                Ok(count) => self.add_line(None, count, 0),
                Err(_) => return false,
            },
            _ => return false,
        }
        true
    }

    /// `== 3 passed, 1 failed in 0.12s ==`, also of deno: `ok | 3 passed | 0 failed (10ms)`.
    fn pytest(&mut self, text: &str) -> bool {
        let text = text.trim_matches(['=', ' ']);
        let is_deno = text.contains(" passed |") && text.contains(" failed");
        let is_summary = text.split_once(" in ").is_some_and(|(counts, time)| {
            const WORDS: [&str; 6] =
                ["passed", "failed", "error", "skipped", "deselected", "no tests ran"];
            let starts = counts.starts_with(|c: char| c.is_ascii_digit())
                || counts.starts_with("no tests ran");
            starts
                && WORDS.iter().any(|word| counts.contains(word))
                && time.starts_with(|c: char| c.is_ascii_digit())
        });
        if is_deno || is_summary {
            let passed = before(text, "passed") + before(text, "xpassed");
            let failed = before(text, "failed") + before(text, "error");
            self.add(passed, failed, before(text, "skipped") + before(text, "xfailed"));
            self.deselect(before(text, "deselected") + before(text, "filtered out"));
        }
        is_deno || is_summary
    }

    fn tap_or_go(&mut self, text: &str, line: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["ok", _, time, rest @ ..] if is_seconds(time) || *time == "(cached)" => {
                let ran = !rest.contains(&"[no");
                let go = self.go.get_or_insert_default();
                go.passed += u64::from(ran);
                go.packages = go.passed;
            }
            ["FAIL", _, time] if is_seconds(time) => {
                self.go.get_or_insert_default().failed += 1;
            }
            [plan] if plan.starts_with("1..") => self.has_plan = true,
            ["ok", number, ..] if number.parse::<u64>().is_ok() && line.starts_with("ok") => {
                self.tap.passed += 1;
            }
            ["not", "ok", ..] if line.starts_with("not ok") => self.tap.failed += 1,
            _ => {}
        }
    }
}

/// Whether a text is a duration such as `0.012s`.
fn is_seconds(text: &str) -> bool {
    text.strip_suffix('s').is_some_and(|number| number.parse::<f64>().is_ok())
}

/// The number before a word, as in `3 passed`; 0 if there is none.
fn before(text: &str, word: &str) -> u64 {
    let at = |(at, _): (usize, &str)| {
        let left = text[..at].trim_end_matches(' ');
        // `xpassed` and `not passed` are other words.
        if left.len() == at && at > 0 {
            return None;
        }
        let digits = left.len() - left.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        left[left.len() - digits..].parse().ok()
    };
    text.match_indices(word).find_map(at).unwrap_or(0)
}

/// The number after a text, as in `Errors: 1`; 0 if there is none.
fn after(text: &str, word: &str) -> u64 {
    text.split_once(word).map_or(0, |(_, rest)| first(rest))
}

/// The first number of a text.
fn first(text: &str) -> u64 {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(0)
}

/// A line without terminal escape sequences.
fn without_colors(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |end| end + 1);
        text.push_str(&part[end..]);
    }
    text
}

#[cfg(test)]
mod tests;
