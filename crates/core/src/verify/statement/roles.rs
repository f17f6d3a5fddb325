//! What single words say in a sentence about the results of tests.

use super::act::Act;
use super::tokens::is_function_word;
use super::words::{Meaning, means};

/// Whether a word says that tests passed or failed.
pub(super) fn is_result(word: &str) -> bool {
    means(word, Meaning::Success) || is_failure_word(word)
}

/// Whether a word is a failure of tests; skipped tests and warnings are none.
pub(super) fn is_failure_word(word: &str) -> bool {
    let fails = means(word, Meaning::Failure) || means(word, Meaning::Act(Act::Failed));
    fails && !word.starts_with("skip") && !word.starts_with("warn")
}

pub(super) fn is_of(word: &str) -> bool {
    ["of", "из", "von"].contains(&word)
}

pub(super) fn is_filler(word: &str) -> bool {
    is_function_word(word) || means(word, Meaning::Tests)
}

pub(super) fn is_all(word: &str) -> bool {
    ["all", "every", "total", "все", "всего", "alle", "insgesamt"].contains(&word)
}

pub(super) fn is_run(word: &str) -> bool {
    means(word, Meaning::Act(Act::Ran)) || ["run", "runs", "running"].contains(&word)
}

/// Whether a word names a program that runs tests, in a sentence without backticks.
pub(in crate::verify) fn is_runner(word: &str) -> bool {
    const RUNNERS: &str = "npm pnpm yarn bun deno cargo pytest unittest jest vitest mocha make just go node python python3 tox";
    RUNNERS.split_whitespace().any(|known| known == word)
}
