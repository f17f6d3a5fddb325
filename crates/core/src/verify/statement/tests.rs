//! Results of tests in texts: values such as `5 passed, 0 failed`, and sentences such as `All 5 tests pass`.

use super::act::Act;
use super::sentence::{Sentence, words};
use super::words::{Meaning, means, number};

/// A statement of an output about the result of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verify) struct TestClaim {
    pub(in crate::verify) passed: bool,
    /// Claimed numbers of passed and failed tests.
    pub(in crate::verify) counts: (Option<u64>, Option<u64>),
    /// Whether a sentence says so and no key.
    pub(in crate::verify) in_prose: bool,
}

impl TestClaim {
    /// A claim without numbers.
    pub(in crate::verify) fn of_result(passed: bool) -> TestClaim {
        TestClaim { passed, counts: (None, None), in_prose: false }
    }

    /// The name of the claim.
    pub(in crate::verify) fn name(self) -> &'static str {
        if self.passed { "passed" } else { "failed" }
    }
}

/// The claim of a value that is about tests alone, such as `passed` and `5 passed, 0 failed`.
pub(in crate::verify) fn of_text(text: &str) -> Option<TestClaim> {
    let words = words(&text.replace('/', " of ").replace(['✅', '✓'], " pass "));
    let counts = counts(&words);
    let own = without_failures(&words);
    let starts = |meaning| own.first().is_some_and(|word| means(word, meaning));
    let is_failure = |word: &&String| is_failure_word(word);
    let fails = own.iter().any(is_failure) && counts.1 != Some(0);
    let failed = fails || starts(Meaning::Unreal) || counts.1.is_some_and(|failed| failed > 0);
    let says_passed = own.iter().any(|word| means(word, Meaning::Success)) || text.trim() == "true";
    let passed = says_passed || counts.0.is_some() || own.len() < words.len();
    let not_run =
        own.iter().any(|word| ["run", "ran", "available", "applicable"].contains(&word.as_str()));
    let skipped = own
        .first()
        .is_some_and(|word| word.starts_with("skip") || ["none", "n"].contains(&word.as_str()))
        || starts(Meaning::Unreal) && not_run;
    let red = own.first().is_some_and(|word| word.as_str() == "red");
    (!skipped && (failed || passed || red)).then_some(TestClaim {
        passed: !failed && !red,
        counts,
        in_prose: false,
    })
}

/// The claims of sentences that say that the tests passed. Quoted texts are those of others.
pub(in crate::verify) fn tests_of(text: &str) -> Vec<TestClaim> {
    Sentence::all(text).iter().filter_map(Sentence::tests).collect()
}

impl Sentence {
    /// The claim of a sentence that says that the tests passed.
    pub(in crate::verify) fn tests(&self) -> Option<TestClaim> {
        let words = words(&self.text.replace('/', " of ").replace(['✅', '✓'], " pass "));
        let counts = counts(&words);
        let own = without_failures(&words);
        let has = |meaning| own.iter().any(|word| means(word, meaning));
        let none_failed = counts.1 == Some(0) || own.len() < words.len();
        let passed = has(Meaning::Success) || counts.0.is_some() || none_failed;
        let ran = own.iter().any(|word| means(word, Meaning::Act(Act::Ran)));
        // `Added a test that passes a list`: the tests must be the subject.
        let definite = ran || counts.0.is_some() || !has(Meaning::Wrote);
        let is_other = |pair: &[&String]| {
            ["to", "that", "which"].contains(&pair[0].as_str()) && means(pair[1], Meaning::Success)
        };
        let denied = has(Meaning::Unreal) || has(Meaning::Partly) || own.windows(2).any(is_other);
        let states = has(Meaning::Tests) && passed && definite && !denied;
        states.then_some(TestClaim { passed: true, counts, in_prose: true })
    }

    /// The numbers of passed and failed tests in the sentence.
    pub(in crate::verify) fn test_counts(&self) -> (Option<u64>, Option<u64>) {
        counts(&words(&self.text.replace('/', " of ")))
    }
}

/// Whether a word is a failure of tests; skipped tests and warnings are none.
fn is_failure_word(word: &str) -> bool {
    means(word, Meaning::Failure) && !word.starts_with("skip") && !word.starts_with("warn")
}

/// The words without pairs that deny a failure: `no errors`, `0 failed`, `2 skipped`, `ошибок нет`.
fn without_failures(words: &[String]) -> Vec<&String> {
    let denies = |a: &String, b: &String| {
        means(a, Meaning::Without) && means(b, Meaning::Failure)
            || number(a).is_some() && b.starts_with("skip")
    };
    let at = |at: usize| words.get(at);
    let is_denied = |place: usize| {
        let next = at(place + 1).is_some_and(|next| {
            denies(&words[place], next)
                || denies(next, &words[place]) && !means(next, Meaning::Tests)
        });
        let last = place
            .checked_sub(1)
            .and_then(at)
            .is_some_and(|last| denies(last, &words[place]) || denies(&words[place], last));
        next || last
    };
    (0..words.len()).filter(|place| !is_denied(*place)).map(|place| &words[place]).collect()
}

/// The numbers of passed and failed tests: `5/5`, `5 из 5`, `5 passed, 0 failed`, `all 5 tests`, `тестов: 5`.
fn counts(words: &[String]) -> (Option<u64>, Option<u64>) {
    let number_at = |at: usize| words.get(at).and_then(|word| number(word));
    let digits = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let failed = (0..words.len()).find_map(|at| {
        let count = number_at(at)?;
        let failed = |at: usize| words.get(at).is_some_and(|word| is_failure_word(word));
        let filler =
            |at: usize| words.get(at).is_some_and(|w| means(w, Meaning::Tests) || w == "still");
        let denied = words
            .get(at + 2)
            .is_some_and(|word| means(word, Meaning::Without) && number(word).is_none());
        let says = failed(at + 1) && !denied || filler(at + 1) && failed(at + 2);
        says.then_some(count)
    });
    for (at, word) in words.iter().enumerate().skip(1) {
        let (Some(passed), Some(all)) = (digits(at - 1), digits(at + 1)) else { continue };
        if ["of", "из", "von"].contains(&word.as_str()) && passed <= all {
            return (Some(passed), Some(all - passed));
        }
    }
    let passed = (0..words.len()).find_map(|at| {
        let count = digits(at)?;
        let passed = |at: usize| words.get(at).is_some_and(|w| means(w, Meaning::Success));
        let is_test = words.get(at + 1).is_some_and(|word| means(word, Meaning::Tests));
        (passed(at + 1) || is_test && passed(at + 2)).then_some(count)
    });
    let all = || {
        let added = words.iter().any(|word| means(word, Meaning::Wrote));
        (0..words.len()).find_map(|at| {
            let count = digits(at)?;
            let is_test = |at: usize| words.get(at).is_some_and(|word| means(word, Meaning::Tests));
            let is_all = at > 0 && ["all", "все", "alle"].contains(&words[at - 1].as_str());
            let beside = is_test(at + 1) || is_test(at + 2) || at > 0 && is_test(at - 1);
            (beside && (is_all || !added && failed.is_none_or(|failed| failed == 0)))
                .then_some(count)
        })
    };
    (passed.or_else(all), failed)
}
