//! Whether an output says that tests failed, in whatever key or sentence.

use super::keys::words;
use super::statement::{of_text, tests_of};
use super::test_words::{Counted, is_about_tests, number};
use kb_base::value::Json;

/// Most levels of objects and lists that are read.
const DEPTH: usize = 8;

/// Whether a text or a number in an output says that tests failed.
pub(super) fn reports_failure(output: &Json) -> bool {
    says_it("", output, 0)
}

fn says_it(key: &str, value: &Json, depth: usize) -> bool {
    let counts_failed = || matches!(Counted::of(&words(key)), Some(Counted::Failed));
    match value {
        Json::String(text) => {
            let said = of_text(text).into_iter().chain(tests_of(text));
            said.into_iter().any(|claim| !claim.passed)
        }
        Json::Number(_) => counts_failed() && number(value) != Some(0),
        Json::Bool(passed) => is_about_tests(&words(key)) && *passed == counts_failed(),
        Json::Array(items) if depth < DEPTH => {
            counts_failed() && !items.is_empty()
                || items.iter().any(|item| says_it(key, item, depth + 1))
        }
        Json::Object(fields) if depth < DEPTH => {
            fields.iter().any(|(key, value)| says_it(key, value, depth + 1))
        }
        Json::Null | Json::Array(_) | Json::Object(_) => false,
    }
}
