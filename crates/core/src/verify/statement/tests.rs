//! Results of tests in texts: values such as `5 passed, 0 failed`, and sentences such as `All 5 tests pass`.
//!
//! Each number gets a role from the words beside it. A claim is understood if every word has a role: only then its
//! numbers and its result can refute it.

use super::act::Act;
use super::result::TestClaim;
use super::roles::{is_all, is_failure_word, is_filler, is_of, is_result, is_run, is_runner};
use super::sentence::Sentence;
use super::share::Share;
use super::tokens::{Token, is_function_word, tokens};
use super::words::{Meaning, means, number};

/// The claim of a value that is about tests alone, such as `passed` and `5 passed, 0 failed`.
pub(in crate::verify) fn of_text(text: &str) -> Option<TestClaim> {
    let parts = tokens(text);
    let said = Outcome::of(&parts);
    let first = parts.iter().find_map(|part| match part {
        Token::Word(word) => Some(word.as_str()),
        Token::Path(_) | Token::Code(_) => None,
    });
    let starts = |meaning| first.is_some_and(|word| means(word, meaning));
    let not_run = said.words.iter().any(|word| {
        means(word, Meaning::Act(Act::Ran)) || ["run", "available", "applicable"].contains(word)
    });
    let is_skipped = first.is_some_and(|word| {
        word.starts_with("skip") || ["none", "n"].contains(&word) || word == "n/a"
    }) || starts(Meaning::Unreal) && not_run;
    let is_red = first == Some("red");
    let failed = said.fails() || starts(Meaning::Unreal) || is_red;
    let rest = said.is_rest();
    let passed = said.success || said.passed.is_some() || said.none_failed || first == Some("true");
    let understood = said.understood && (!said.denied || starts(Meaning::Unreal))
        || is_red
        || first == Some("true");
    let counts = said.counts();
    let all = said.words.iter().any(|word| is_all(word));
    let complete = said.is_complete();
    let all = all || said.share.is_some_and(Share::is_all);
    let share = said.share;
    let claim = TestClaim {
        counts,
        share,
        rest,
        understood,
        all,
        complete,
        ..TestClaim::of_result(!failed)
    };
    (!is_skipped && (failed || passed)).then_some(claim)
}

/// The claims of sentences that say that the tests passed. Quoted texts are those of others.
pub(in crate::verify) fn tests_of(text: &str) -> Vec<TestClaim> {
    Sentence::all(text).iter().filter_map(Sentence::tests).collect()
}

impl Sentence {
    /// The claim of a sentence that says that the tests passed.
    pub(in crate::verify) fn tests(&self) -> Option<TestClaim> {
        let parts = tokens(&self.text);
        let said = Outcome::of(&parts);
        let has = |meaning| said.open().any(|word| means(word, meaning));
        let passed = said.success || said.passed.is_some() || said.none_failed;
        let ran = has(Meaning::Act(Act::Ran));
        // `Added a test that passes a list`: the tests must be the subject.
        let definite = ran || said.passed.is_some() || !has(Meaning::Wrote);
        let is_other = |pair: &[&str]| {
            ["to", "that", "which"].contains(&pair[0]) && means(pair[1], Meaning::Success)
        };
        let denied = has(Meaning::Unreal)
            || has(Meaning::Partly)
            || said.fails()
            || said.words.windows(2).any(is_other);
        let states = has(Meaning::Tests) && passed && definite && !denied;
        let (counts, understood) = (said.counts(), said.understood);
        let all =
            said.words.iter().any(|word| is_all(word)) || said.share.is_some_and(Share::is_all);
        let never = said.none_failed && !said.success && said.passed.is_none();
        let claim = TestClaim {
            counts,
            share: said.share,
            rest: said.is_rest(),
            understood,
            all,
            never,
            complete: said.is_complete(),
            leads: self.leads(&parts),
            in_prose: true,
            ..TestClaim::of_result(true)
        };
        states.then_some(claim)
    }

    /// Whether the sentence begins with a number of tests and their success, and is not about another time or actor.
    fn leads(&self, parts: &[Token]) -> bool {
        let is_success = |part: &Token| match part {
            Token::Word(word) => means(word, Meaning::Success),
            Token::Path(_) | Token::Code(_) => false,
        };
        let other = [Meaning::Others, Meaning::Otherwise].iter().any(|m| self.has(*m))
            || self.words.iter().any(|word| ["ci", "pipeline"].contains(&word.as_str()));
        let end = parts.iter().position(is_success).filter(|_| !other);
        end.is_some_and(|end| {
            let said = Outcome::of(&parts[..=end]);
            said.understood && said.counts().0.is_some_and(|count| count > 0)
        })
    }

    /// What the sentence says about tests, if all of it was understood.
    pub(in crate::verify) fn understood_tests(&self) -> Option<TestClaim> {
        let parts = tokens(&self.text);
        let said = Outcome::of(&parts);
        let is_about = said.tests && said.understood && !said.denied;
        let failed = is_about && said.fails();
        let failure = failed.then(|| TestClaim {
            counts: said.counts(),
            share: said.share,
            ..TestClaim::of_result(false)
        });
        let passed = self.tests().filter(|claim| claim.understood);
        failure.or(passed)
    }

    /// The number of failed tests in the sentence.
    pub(in crate::verify) fn failed_tests(&self) -> Option<u64> {
        Outcome::of(&tokens(&self.text)).counts().1
    }
}

/// What the words of a clause say about tests.
#[derive(Default)]
struct Outcome<'t> {
    words: Vec<&'t str>,
    /// Words of pairs that deny a failure, such as `no errors`, `0 failed`.
    settled: Vec<bool>,
    passed: Option<u64>,
    failed: Option<u64>,
    total: Option<u64>,
    /// The share of the tests that passed.
    share: Option<Share>,
    skipped: bool,
    success: bool,
    failure: bool,
    none_failed: bool,
    tests: bool,
    denied: bool,
    understood: bool,
}

impl<'t> Outcome<'t> {
    fn of(parts: &'t [Token]) -> Outcome<'t> {
        let mut said = Outcome { understood: true, ..Outcome::default() };
        for part in parts {
            match part {
                Token::Word(word) => said.words.push(word),
                // A command beside a result is read by itself.
                Token::Code(_) => {}
                Token::Path(_) => said.understood = false,
            }
        }
        said.settled = vec![false; said.words.len()];
        (0..said.words.len()).for_each(|at| said.number(at));
        (0..said.words.len()).for_each(|at| said.share_of(at));
        (0..said.words.len()).for_each(|at| said.denied_failure(at));
        if said.failed == Some(0) {
            said.settle_failures();
        }
        (0..said.words.len()).for_each(|at| said.word(at));
        said.understood &= !said.skipped && said.is_consistent();
        said
    }

    /// The words without those that deny a failure.
    fn open(&self) -> impl Iterator<Item = &&'t str> {
        self.words.iter().zip(&self.settled).filter(|(_, settled)| !**settled).map(|(word, _)| word)
    }

    fn fails(&self) -> bool {
        let failed = self.counts().1;
        failed.is_some_and(|count| count > 0) || self.failure && failed != Some(0)
    }

    /// The numbers of passed and failed tests, one of them from the number of all if that is said.
    fn counts(&self) -> (Option<u64>, Option<u64>) {
        match (self.passed, self.failed, self.total) {
            (Some(passed), None, Some(total)) => (Some(passed), total.checked_sub(passed)),
            (None, Some(failed), Some(total)) => (total.checked_sub(failed), Some(failed)),
            (None, None, Some(total)) if !self.failure => (Some(total), None),
            (passed, failed, _) => (passed, failed),
        }
    }

    /// Whether the tests that did not pass are the rest of all, and no word says that they failed: `5/7`, `83 % passed`.
    fn is_rest(&self) -> bool {
        let is_share = self.share.is_some_and(|share| !share.is_all());
        let is_derived = self.failed.is_none() && self.passed.is_some() && self.passed < self.total;
        !self.failure && (is_share || is_derived)
    }

    fn is_complete(&self) -> bool {
        self.passed.is_some() && self.passed == self.total
    }

    fn is_consistent(&self) -> bool {
        match (self.passed, self.failed, self.total) {
            (Some(passed), Some(failed), Some(total)) => passed + failed == total,
            (Some(part), None, Some(total)) | (None, Some(part), Some(total)) => part <= total,
            _ => true,
        }
    }

    fn at(&self, at: usize) -> &'t str {
        self.words.get(at).copied().unwrap_or_default()
    }

    /// The role of a number.
    fn number(&mut self, at: usize) {
        let Some(count) = number(self.at(at)).filter(|_| !self.settled[at]) else { return };
        if let Some((all, place)) = self.share(at) {
            let before = at.checked_sub(1).map(|before| self.at(before)).unwrap_or_default();
            let next = (place + 1..self.words.len()).map(|next| self.at(next));
            let next = next.take_while(|word| number(word).is_none()).find(|word| is_result(word));
            let fails = next.map_or_else(|| is_failure_word(before), is_failure_word);
            let role = if fails { &mut self.failed } else { &mut self.passed };
            self.understood &= role.replace(count).is_none() && count <= all;
            self.understood &= self.total.replace(all).is_none_or(|known| known == all);
            (at..=place).for_each(|place| self.settled[place] = true);
            return;
        }
        let after =
            (at + 1..self.words.len()).map(|next| self.at(next)).find(|word| !is_filler(word));
        let before = at.checked_sub(1).map(|before| self.at(before)).unwrap_or_default();
        let after = after.unwrap_or_default();
        let role = match () {
            () if is_all(after) => &mut self.total,
            () if is_failure_word(after) => &mut self.failed,
            () if means(after, Meaning::Success) => &mut self.passed,
            () if after.starts_with("skip") || before.starts_with("skip") => {
                self.skipped = true;
                return;
            }
            () if is_failure_word(before) => &mut self.failed,
            () if means(before, Meaning::Success) => &mut self.passed,
            () if is_all(before)
                || is_of(before)
                || means(self.at(at + 1), Meaning::Tests)
                || means(before, Meaning::Tests)
                || is_run(after) =>
            {
                &mut self.total
            }
            () => {
                self.understood = false;
                return;
            }
        };
        self.understood &= *role.get_or_insert(count) == count;
        self.settled[at] = true;
    }

    /// The role of a percentage: of the tests that passed, or of those that failed.
    fn share_of(&mut self, at: usize) {
        let Some(share) = Share::of(self.at(at)) else { return };
        let mut next = (at + 1..self.words.len()).map(|next| self.at(next));
        let next =
            next.find(|word| !is_filler(word) && !is_all(word)).filter(|word| is_result(word));
        // `passed: 83 %`, `pass rate: 83 %`, `5/6 (83 %)`
        let before =
            (0..at).rev().take(2).map(|before| self.at(before)).find(|word| is_result(word));
        let is_of_numbers = match self.counts() {
            (Some(passed), Some(failed)) => share.fits(passed, passed.saturating_add(failed)),
            _ => false,
        };
        let passed = match next.or(before) {
            Some(word) if is_failure_word(word) => share.rest(),
            Some(_) => share,
            None if is_of_numbers => share,
            None => return,
        };
        self.understood &= *self.share.get_or_insert(passed) == passed;
        self.settled[at] = true;
    }

    /// The number of all behind `1 of 3` and `1 out of 3`, with its place.
    fn share(&self, at: usize) -> Option<(u64, usize)> {
        let is_between = |word| word == "out" || means(word, Meaning::Tests);
        let of = if is_between(self.at(at + 1)) { at + 2 } else { at + 1 };
        let place = if is_function_word(self.at(of + 1)) { of + 2 } else { of + 1 };
        number(self.at(place)).filter(|_| is_of(self.at(of))).map(|all| (all, place))
    }

    /// `0 of 5 tests failed` says that none did.
    fn settle_failures(&mut self) {
        let fails: Vec<bool> = self.words.iter().map(|word| is_failure_word(word)).collect();
        self.settled.iter_mut().zip(fails).for_each(|(settled, fails)| *settled |= fails);
        self.none_failed = true;
    }

    /// Settles a failure that is denied: `no errors`, `0 failed`, `ошибок нет`.
    fn denied_failure(&mut self, at: usize) {
        if !is_failure_word(self.at(at)) || self.settled[at] {
            return;
        }
        let is_none = |word: &str| means(word, Meaning::Without);
        let near = [at.checked_sub(1), Some(at + 1), at.checked_sub(2)];
        let denial = near.into_iter().flatten().find(|place| {
            let between = place + 2 == at && !means(self.at(at - 1), Meaning::Tests);
            is_none(self.at(*place)) && !between
        });
        if let Some(place) = denial {
            self.none_failed = true;
            self.failed = self.failed.or(Some(0));
            self.settled[at] = true;
            self.settled[place] = true;
        }
    }

    fn word(&mut self, at: usize) {
        let word = self.at(at);
        match () {
            () if self.settled[at] => {}
            () if means(word, Meaning::Tests) => self.tests = true,
            () if means(word, Meaning::Success) => self.success = true,
            () if is_failure_word(word) => self.failure = true,
            () if word.starts_with("skip") => {}
            () if means(word, Meaning::Denial) => self.denied = true,
            () if means(word, Meaning::Unreal) => {
                self.denied = true;
                self.understood = false;
            }
            () if is_filler(word) || is_all(word) || is_run(word) || is_runner(word) => {}
            () => self.understood = false,
        }
    }
}

#[cfg(test)]
mod cases {
    use super::of_text;

    #[test]
    fn each_number_of_tests_has_a_role_or_the_text_is_not_understood() {
        let (some, none) = (Some, None::<u64>);
        for (text, passed, counts, understood) in [
            ("1 of 3 failed", false, (some(2), some(1)), true),
            ("1/3 failed", false, (some(2), some(1)), true),
            ("failed: 1 of 3", false, (some(2), some(1)), true),
            ("1 failed of 3", false, (some(2), some(1)), true),
            ("2 of 3 pass", false, (some(2), some(1)), true),
            ("one of three tests fails", false, (some(2), some(1)), true),
            ("1 von 3 Tests schlägt fehl", false, (some(2), some(1)), true),
            ("1 тест из 3 упал", false, (some(2), some(1)), true),
            ("FAILED (failures=1)", false, (none, some(1)), true),
            ("3 run, 1 failing", false, (some(2), some(1)), true),
            ("2 passed, 1 failed, 3 total", false, (some(2), some(1)), true),
            ("0 of 5 tests failed", true, (some(5), some(0)), true),
            ("5/5", true, (some(5), some(0)), true),
            ("twelve tests pass", true, (some(12), none), true),
            ("5 passed, 3 new", true, (some(5), none), false),
            ("5 passed, 2 skipped", true, (some(5), none), false),
            ("5 passed on 3 platforms", true, (some(5), none), false),
            ("2 passed, 1 failed, 4 total", false, (some(2), some(1)), false),
            ("83 % passed", true, (none, none), true),
            ("83% of all tests pass", true, (none, none), true),
            ("17 % of the tests failed", false, (none, none), true),
            ("5/6 (83 %)", false, (some(5), some(1)), true),
            ("5/6 (90 %)", false, (some(5), some(1)), false),
            ("5 passed, 98 % covered", true, (some(5), none), false),
        ] {
            let found = of_text(text).unwrap();
            let found = (found.passed, found.counts, found.understood);
            assert_eq!(found, (passed, counts, understood), "{text}");
        }
    }
}
