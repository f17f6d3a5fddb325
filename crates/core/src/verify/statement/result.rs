//! What an output says about the result of tests.

use super::share::Share;
use crate::evidence::TestCounts;

/// A statement of an output about the result of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verify) struct TestClaim {
    pub(in crate::verify) passed: bool,
    /// Claimed numbers of passed and failed tests.
    pub(in crate::verify) counts: (Option<u64>, Option<u64>),
    /// The claimed share of tests that passed: `83 %`.
    pub(in crate::verify) share: Option<Share>,
    /// Whether a sentence says so and no key.
    pub(in crate::verify) in_prose: bool,
    /// Whether it says nothing else that was not read.
    pub(in crate::verify) understood: bool,
    /// Whether it may be about a part of the tests, such as those of a package.
    pub(in crate::verify) part: bool,
    /// Whether it says so of all tests.
    pub(in crate::verify) all: bool,
    /// Whether its number of passed tests is also that of all.
    pub(in crate::verify) complete: bool,
    /// Whether the tests that did not pass are the rest of all, and it does not say that they failed: `{passed: 5, total: 6}`,
    /// `5/6`, `83 % passed`.
    pub(in crate::verify) rest: bool,
    /// The name of the part, if it is one that commands usually have: `unit`.
    pub(in crate::verify) named: Option<&'static str>,
    /// Whether the output also says that tests failed, which can be those of another part.
    pub(in crate::verify) others_failed: bool,
    /// Whether it says of each run that no test failed.
    pub(in crate::verify) never: bool,
    /// Whether its sentence begins with a number of passed tests, whatever follows.
    pub(in crate::verify) leads: bool,
    /// Whether it is about integration tests alone.
    pub(in crate::verify) integration: bool,
}

impl TestClaim {
    /// A claim without numbers.
    pub(in crate::verify) fn of_result(passed: bool) -> TestClaim {
        TestClaim {
            passed,
            counts: (None, None),
            share: None,
            in_prose: false,
            understood: true,
            part: false,
            all: false,
            complete: false,
            rest: false,
            named: None,
            others_failed: false,
            never: false,
            leads: false,
            integration: false,
        }
    }

    /// Whether it says how many tests passed or failed.
    pub(in crate::verify) fn has_numbers(self) -> bool {
        self.counts != (None, None) || self.share.is_some()
    }

    /// Whether the claimed share of tests that passed is not that of a run, with or without the tests that it left out.
    pub(in crate::verify) fn share_differs(self, counts: TestCounts) -> bool {
        let all = [counts.ran(), counts.ran().saturating_add(counts.skipped)];
        let differs = |share: Share| !all.iter().any(|all| share.fits(counts.passed, *all));
        self.share.is_some_and(differs)
    }

    /// Whether a number of failed tests is that of a run. The rest of all can be tests that were left out, and some of them.
    pub(in crate::verify) fn can_have_failed(self, failed: u64, counts: TestCounts) -> bool {
        let most = counts.failed.saturating_add(counts.skipped);
        [counts.failed, most].contains(&failed)
            || self.rest && (counts.failed..=most).contains(&failed)
    }

    /// Whether it says no more of the tests than another one with the same numbers.
    pub(in crate::verify) fn adds_nothing_to(self, other: TestClaim) -> bool {
        (other.all || !self.all)
            && (other.never || !self.never)
            && (other.complete || !self.complete)
            && (self.share.is_none() || other.share == self.share)
    }

    /// Whether it says all that another one says.
    pub(in crate::verify) fn says(self, other: TestClaim) -> bool {
        let has = |own: Option<u64>, said: Option<u64>| said.is_none() || said == own;
        self.passed == other.passed
            && self.integration == other.integration
            && has(self.counts.0, other.counts.0)
            && has(self.counts.1, other.counts.1)
            && (other.share.is_none() || other.share == self.share)
    }

    /// The name of the claim.
    pub(in crate::verify) fn name(self) -> &'static str {
        if self.passed { "passed" } else { "failed" }
    }
}
