//! Statements of an output about the result of tests: in keys at any depth, and in sentences of its summary and handoff.
//! [`super::test_proof`] compares them with the record.

use super::keys::{field, is_neutral, words};
use super::reported_failures::reports_failure;
pub(super) use super::statement::TestClaim;
use super::statement::{Meaning, means, of_text, summary, tests_of};
use super::test_words::{
    Counted, FAILED, NUMBERS, PARTS, TESTS, WORDS, has, is_about_tests, number,
};
use super::{call_claim, claim};
use kb_base::value::{Json, JsonMap};

/// Whether a key states the result of tests, so that it is read here.
pub(super) fn is_read(key: &str, value: &Json) -> bool {
    let words = words(key);
    claim_of(key, value).is_some()
        || is_about_tests(&words) && (value.is_number() || value.is_object())
}

/// The claims of an output about test results, each one once. Texts such as `skipped` claim nothing. A
/// number of passed tests alone says that the tests passed only if no other key says that they failed.
pub(super) fn test_claims(output: &Json) -> Vec<TestClaim> {
    let mut said = vec![summary(output)];
    let handoff = output.get("handoff").and_then(|handoff| handoff.get("decisions"));
    handoff.into_iter().for_each(|handoff| texts(handoff, &mut said));
    joined(output, said.into_iter().flat_map(tests_of))
}

/// The same without sentences.
pub(super) fn keyed_test_claims(output: &Json) -> Vec<TestClaim> {
    joined(output, std::iter::empty())
}

/// The claims of keys and of sentences, each one once.
fn joined(output: &Json, said: impl Iterator<Item = TestClaim>) -> Vec<TestClaim> {
    let mut claims: Vec<TestClaim> = Vec::new();
    let mut add = |claim: TestClaim| {
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    };
    let others_failed = reports_failure(output);
    in_keys(output, Place::default(), 0, &mut |claim| add(TestClaim { others_failed, ..claim }));
    said.for_each(&mut add);
    if claims.iter().any(|claim| !claim.passed) {
        // A sentence beside a reported failure is about an earlier time or another run.
        claims.retain(|claim| {
            !claim.passed || !claim.in_prose && !matches!(claim.counts, (Some(_), None))
        });
    }
    // Claims of the same result are one if the numbers of at most one of them are stated.
    let counted = |claims: &[TestClaim], passed: bool| {
        let is_own = |claim: &&TestClaim| claim.passed == passed && !claim.rest;
        claims.iter().filter(is_own).any(|claim| claim.has_numbers())
    };
    let has_counts = [counted(&claims, false), counted(&claims, true)];
    claims.retain(|claim| {
        let numbers = claim.has_numbers();
        claim.integration || claim.all || numbers || !has_counts[usize::from(claim.passed)]
    });
    let keyed: Vec<TestClaim> = claims.iter().copied().filter(|claim| !claim.in_prose).collect();
    let is_said = |claim: &TestClaim| {
        let says =
            |other: &&TestClaim| other.passed == claim.passed && other.counts.0 == claim.counts.0;
        keyed.iter().filter(says).any(|other| claim.adds_nothing_to(*other))
    };
    claims.retain(|claim| !claim.in_prose || !is_said(claim));
    claims.dedup_by(|claim, own| {
        let key = |claim: &TestClaim| (claim.passed, claim.counts, claim.share, claim.integration);
        key(claim) == key(own) && claim.adds_nothing_to(*own)
    });
    claims
}

/// What the keys above a value say.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// Its claims are about a part of the tests, such as a package.
    pub(super) part: bool,
    /// The name of the part, if it is one that commands usually have.
    named: Option<&'static str>,
    /// A key is about tests.
    pub(super) tests: bool,
    /// A key below that one can name something else than tests.
    pub(super) unclear: bool,
}

impl Place {
    fn claim(self, claim: TestClaim) -> TestClaim {
        let understood = claim.understood && !self.unclear;
        let part = claim.part || self.part;
        TestClaim { part, named: self.named, understood, ..claim }
    }

    /// The place of what is below a key.
    pub(super) fn below(self, key: &str) -> Place {
        let own = words(key);
        let tests = is_about_tests(&own);
        let is_plain = own.iter().all(|word| WORDS.contains(&word.as_str())) && !has(&own, PARTS);
        let is_other = !tests && !is_neutral(key) && !is_plain;
        let named = || PARTS.iter().copied().find(|part| has(&own, &[part]));
        Place {
            named: self.named.or_else(named),
            part: self.part || has(&own, PARTS) || !tests && !is_neutral(key),
            tests: self.tests || tests,
            unclear: self.unclear || self.tests && is_other,
        }
    }
}

/// The claims of keys, at any depth.
fn in_keys(value: &Json, place: Place, depth: usize, add: &mut dyn FnMut(TestClaim)) {
    match value {
        Json::Object(fields) if depth < 8 => {
            let own = TestClaim::of_fields(fields, place.tests);
            own.into_iter().chain(named_result(value)).for_each(|claim| add(place.claim(claim)));
            for (key, value) in fields {
                let own = words(key);
                let integration = has(&own, &["integration"]);
                let add = &mut |claim: TestClaim| {
                    add(TestClaim { integration: claim.integration || integration, ..claim });
                };
                if is_of_others(key) {
                    continue;
                }
                let below = place.below(key);
                let said =
                    || value.as_str().filter(|_| place.tests && is_neutral(key)).and_then(of_text);
                match claim_of(key, value).filter(|_| !value.is_number()).or_else(said) {
                    Some(claim) => add(below.claim(claim)),
                    None => in_keys(value, below, depth + 1, add),
                }
            }
        }
        Json::Array(items) if depth < 8 => {
            // An entry of a list is about one test, or one run.
            let place = Place { tests: false, ..place };
            items.iter().for_each(|item| in_keys(item, place, depth + 1, add));
        }
        _ => {}
    }
}

/// Whether what is below a key is a plan, or is read elsewhere.
pub(super) fn is_of_others(key: &str) -> bool {
    let plan = means(&words(key).concat(), Meaning::OtherKey);
    plan || call_claim::is_read(key) || claim::has_entries(key)
}

fn claim_of(key: &str, value: &Json) -> Option<TestClaim> {
    let words = words(key);
    if !is_about_tests(&words) {
        return None;
    }
    let negative = has(&words, FAILED);
    match value {
        Json::Bool(true) if negative => None,
        // That tests ran is no result.
        Json::Bool(_) if matches!(Counted::of(&words), Some(Counted::Total | Counted::Ran)) => None,
        Json::Bool(false) if negative => Some(TestClaim::of_result(true)),
        _ if negative => None,
        Json::String(_) if has(&words, NUMBERS) => None,
        _ => {
            let claim = TestClaim::of(value)?;
            Some(TestClaim { all: claim.all || has(&words, &["all"]), ..claim })
        }
    }
}

/// An entry such as `{name: unit tests, status: pass}`.
fn named_result(value: &Json) -> Option<TestClaim> {
    let name = field(value, &["name", "check", "step", "kind", "type"])?.as_str()?;
    let words = words(&name.replace(' ', "_"));
    let is_one = name.contains('_') && has(&words, NUMBERS);
    let claim = (is_about_tests(&words) && !is_one).then(|| TestClaim::of(value)).flatten();
    let integration = has(&words, &["integration"]);
    claim.map(|claim| TestClaim { counts: (None, None), share: None, integration, ..claim })
}

/// All texts of a value.
fn texts<'v>(value: &'v Json, found: &mut Vec<&'v str>) {
    match value {
        Json::String(text) => found.push(text),
        Json::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Json::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

impl TestClaim {
    fn of(value: &Json) -> Option<TestClaim> {
        match value {
            Json::Bool(passed) => Some(TestClaim::of_result(*passed)),
            Json::String(text) => of_text(text),
            Json::Object(fields) => TestClaim::of_fields(fields, true),
            _ => None,
        }
    }

    /// The claim of an object: `testsPassed: 5, testsFailed: 0`, or `passed: 5` below a key about tests.
    fn of_fields(fields: &JsonMap, below_tests: bool) -> Option<TestClaim> {
        let is_own = |words: &[String]| below_tests || has(words, TESTS);
        let own = |fits: &dyn Fn(&[String], Counted) -> bool| -> Vec<&Json> {
            let fits = |key: &str| {
                let words = words(key);
                is_own(&words) && Counted::of(&words).is_some_and(|counted| fits(&words, counted))
            };
            fields.iter().filter(|(key, _)| fits(key)).map(|(_, value)| value).collect()
        };
        let numbers = |kinds: &[Counted]| -> Vec<u64> {
            own(&|_, counted| kinds.contains(&counted)).into_iter().filter_map(number).collect()
        };
        let (passed, failed) = (numbers(&[Counted::Passed]), numbers(&[Counted::Failed]));
        let total = numbers(&[Counted::Total, Counted::Ran]);
        // Numbers that differ can be about different tests, and one of them can be wrong; so can the sum of groups.
        let agree = |all: &Vec<u64>| all.windows(2).all(|pair| pair[0] == pair[1]);
        let is_other = |(key, value): (&String, &Json)| {
            let words = words(key);
            has(&words, TESTS) && !is_about_tests(&words) && value.is_number()
        };
        let agree = agree(&passed) && agree(&failed) && agree(&total);
        let agree = agree && !fields.iter().any(is_other);
        let (passed, failed) = (passed.first().copied(), failed.first().copied());
        const STATUS: &[&str] = &["status", "result", "success", "outcome", "ok"];
        let status = own(&|words, _| has(words, STATUS)).into_iter();
        let mut status = status.filter(|_| below_tests).filter_map(TestClaim::of);
        let stated = status.next().map(|claim| claim.passed);
        // No test ran, or only the number of failed ones is said.
        let is_none = failed.unwrap_or(0) == 0 && passed.unwrap_or(0) == 0;
        if stated.is_none() && is_none && (passed.is_some() || !below_tests) {
            return None;
        }
        let counted = failed.map(|failed| failed == 0).or(passed.map(|_| true));
        let claim =
            TestClaim::counted(stated.or(counted)?, (passed, failed), total.first().copied());
        let integration = fields
            .keys()
            .map(|key| words(key))
            .any(|words| has(&words, &["integration"]) && is_about_tests(&words));
        let rest = stated.is_none() && failed.is_none() && claim.counts.1.unwrap_or(0) > 0;
        let understood = claim.understood && agree;
        Some(TestClaim { understood, integration, rest, ..claim })
    }

    /// The claim of numbers in keys; the number of all gives the missing one.
    fn counted(passed: bool, counts: (Option<u64>, Option<u64>), total: Option<u64>) -> TestClaim {
        let (own, failed) = counts;
        let rest = |part: u64| total.and_then(|total| total.checked_sub(part));
        let understood = match (own, failed, total) {
            (Some(own), Some(failed), Some(total)) => own.checked_add(failed) == Some(total),
            (Some(part), None, Some(total)) | (None, Some(part), Some(total)) => part <= total,
            _ => true,
        };
        let complete = total.is_some() && own == total;
        let counts = (own.or(failed.and_then(rest)), failed.or(own.and_then(rest)));
        TestClaim { counts, understood, complete, ..TestClaim::of_result(passed) }
    }
}

#[cfg(test)]
mod tests {
    use super::{TestClaim, test_claims};
    use serde_json::json;

    #[test]
    fn results_of_tests_are_read_in_all_keys_and_in_definite_sentences() {
        let passed = |counts| TestClaim { counts, ..TestClaim::of_result(true) };
        let plain = |claim: TestClaim| TestClaim {
            in_prose: false,
            understood: true,
            part: false,
            all: false,
            complete: false,
            leads: false,
            ..claim
        };
        for (output, expected) in [
            (json!({"testsPassed": 5, "testsFailed": 0}), Some((Some(5), Some(0)))),
            (json!({"testSummary": "5 passed, 0 failed"}), Some((Some(5), Some(0)))),
            (json!({"testsPassing": true}), Some((None, None))),
            (json!({"tests": "5/5"}), Some((Some(5), Some(0)))),
            (json!({"all_tests_passed": true}), Some((None, None))),
            (json!({"verification": {"tests": "passed"}}), Some((None, None))),
            (json!({"results": [{"name": "unit tests", "status": "pass"}]}), Some((None, None))),
            (json!({"ci": {"test": "success"}}), Some((None, None))),
            (json!({"summary": "All 5 tests pass."}), Some((Some(5), None))),
            (json!({"summary": "I ran the tests and everything is green."}), Some((None, None))),
            (json!({"summary": "Все тесты пройдены (5 из 5)."}), Some((Some(5), Some(0)))),
            (json!({"summary": "Alle 5 Tests bestanden."}), Some((Some(5), None))),
            (json!({"handoff": {"decisions": ["the test suite passes"]}}), Some((None, None))),
            (json!({"summary": "The tests should pass now."}), None),
            (json!({"summary": "The page says: \"All 12 tests pass.\""}), None),
            (json!({"summary": "Added a test that passes a list to the parser."}), None),
            (json!({"summary": "Тесты не пройдены."}), None),
            (json!({"testsAdded": ["tests/a.py"], "tests": ["tests/a.py"]}), None),
            (json!({"testResult": "skipped"}), None),
        ] {
            let found: Vec<TestClaim> = test_claims(&output).into_iter().map(plain).collect();
            let expected: Vec<TestClaim> = expected.map(passed).into_iter().collect();
            assert_eq!(found, expected, "{output}");
        }
    }

    #[test]
    fn numbers_that_no_test_run_has_are_not_understood() {
        let output = json!({"tests": {"passed": u64::MAX, "failed": 1, "total": 3}});
        let found = test_claims(&output);
        assert!(!found.is_empty() && found.iter().all(|claim| !claim.understood), "{found:?}");
    }
}
