//! What the task of a step asks to be changed.

use super::names::is_relative;
use super::normalized_path::normalized;
use super::observation::{Observation, ObservationQuery, Observations};
use super::runner::is_test_file;
use super::statement::{Meaning, Sentence, means};
use serde::{Deserialize, Serialize};

/// Most files that are looked up.
const FILES: usize = 20;
/// Characters of a sentence that a reason shows.
const SHOWN: usize = 100;

/// What a task asks to be changed: `Create src/greet.py with a function greet`, `Fix add in calc/core.py`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskedWork {
    /// Files that it asks to make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// The first sentence that asks for a change and sets no condition for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<String>,
    /// Whether the task names a file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    names_file: bool,
    /// Files that are the objects of its orders to make something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    made: Vec<String>,
    /// Files that its orders for a change name before they say what the change is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    named: Vec<String>,
    /// Whether it asks for tests: `Write its tests`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tests: bool,
}

/// Words behind which a sentence says how, why or for what something is to be made.
const BEHIND: &str = "so such that which until for with from in of by using like as and und bis für mit dass aus wie чтобы для с и";
/// Words between two orders.
const JOINTS: [&str; 6] = ["and", "then", "und", "dann", "и", "затем"];
/// Words behind which an order says for what the change is.
const PURPOSE: &str = "so such until using like by bis dass damit чтобы for für для пока";

impl AskedWork {
    /// What a rendered task asks for.
    pub fn of(task: &str) -> AskedWork {
        let sentences = Sentence::all(task);
        let named = |sentence: &Sentence| -> Vec<String> {
            let paths = sentence.located_paths().into_iter();
            paths.filter(|path| is_relative(path)).map(str::to_owned).collect()
        };
        let begins_with_make = |sentence: &&Sentence| {
            let mut words = sentence.words.iter().filter(|word| *word != "please");
            // `Add dist/ to .gitignore` asks for a line.
            let is_place = |word: &String| ["to", "into", "zu", "в"].contains(&word.as_str());
            words.next().is_some_and(|word| means(word, Meaning::ToMake)) && !words.any(is_place)
        };
        let files = sentences.iter().filter(begins_with_make).flat_map(named).take(FILES);
        let order = sentences.iter().find(|sentence| orders_change(sentence));
        let objects = sentences.iter().filter(begins_with_make).map(|own| object_of(&own.text));
        let named_files = sentences.iter().filter(|own| orders_work(own));
        let named_files = named_files.flat_map(|own| names_of_files(&before_purpose(&own.text)));
        let objects: Vec<Sentence> = objects.map(|text| Sentence::whole(&text)).collect();
        AskedWork {
            files: files.collect(),
            order: order.map(|sentence| sentence.text.trim().chars().take(SHOWN).collect()),
            names_file: sentences.iter().any(|sentence| !named(sentence).is_empty()),
            made: objects.iter().flat_map(named).take(FILES).collect(),
            named: named_files.take(FILES).collect(),
            tests: objects.iter().any(|object| object.has(Meaning::Tests)),
        }
    }

    /// Whether it asks to make a file: by its name, or as one of the tests that are to be written.
    pub(super) fn asks_for(&self, path: &str) -> bool {
        has_path(&self.made, path) || self.tests && is_test_file(path)
    }

    /// Whether a file that did not exist can be what it asks for: it orders a change and names the file in the order.
    pub(super) fn may_ask_for(&self, path: &str) -> bool {
        self.asks_for(path) || has_path(&self.named, path)
    }

    /// Whether it asks for no change of which it is known.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
            && self.order.is_none()
            && self.made.is_empty()
            && self.named.is_empty()
            && !self.tests
    }

    /// The sentence that asks for a change of files. Without a file in the task it can ask for something else, such as a
    /// changed text in the answer.
    pub(super) fn order(&self, may_be_other: bool) -> Option<&str> {
        self.order.as_deref().filter(|_| self.names_file || !may_be_other)
    }

    /// The queries for the files that the task asks to make.
    pub(super) fn queries(&self, root: &str) -> impl Iterator<Item = ObservationQuery> {
        self.files.iter().map(move |path| ObservationQuery::Location(normalized(path, root)))
    }

    /// A file that the task asks to make and that does not exist.
    pub(super) fn not_made(&self, root: &str, observations: &Observations) -> Option<&str> {
        self.files.iter().map(String::as_str).find(|path| {
            let query = ObservationQuery::Location(normalized(path, root));
            let Some(Observation::Location(Ok(found))) = observations.get(&query) else {
                return false;
            };
            found.state.is_none() && found.impossible.is_none()
        })
    }
}

fn has_path(files: &[String], path: &str) -> bool {
    files.iter().any(|own| own.trim_start_matches("./") == path)
}

/// The beginning of an order: what is to be made.
fn object_of(text: &str) -> String {
    let goes_on = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        !BEHIND.split(' ').any(|known| known == bare)
    };
    text.split_whitespace().take_while(goes_on).collect::<Vec<_>>().join(" ")
}

/// The part of an order before what it is for: `Write fib.py so that check.sh passes` names `fib.py`. What stands behind `and`
/// counts if it is a file or another order to make something.
fn before_purpose(text: &str) -> String {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let ends = |at: usize| {
        let word = bare(words[at]);
        let joins = ["and", "und", "и"].contains(&word.as_str());
        let is_next = |next: &&str| next.contains(['.', '/']) || is_verb_of_work(&bare(next));
        let goes_on = joins && words.get(at + 1).is_some_and(is_next);
        PURPOSE.split(' ').any(|known| known == word) || joins && !goes_on
    };
    let end = (0..words.len()).find(|at| ends(*at)).unwrap_or(words.len());
    words[..end].join(" ")
}

fn is_verb_of_work(word: &str) -> bool {
    means(word, Meaning::ToMake) || means(word, Meaning::ToChange)
}

/// Whether a sentence begins with an order to make or change something, or has one behind another order.
fn orders_work(sentence: &Sentence) -> bool {
    let words: Vec<&str> =
        sentence.words.iter().map(String::as_str).filter(|word| *word != "please").collect();
    let begins = |at: usize| at == 0 || JOINTS.contains(&words[at - 1]);
    (0..words.len()).any(|at| begins(at) && is_verb_of_work(words[at]))
}

/// The words of a text that can name files, also those without an extension.
fn names_of_files(text: &str) -> Vec<String> {
    let words = text.split_whitespace().filter(|word| word.contains(['.', '/', '`']));
    let bare = words.map(|word| word.trim_matches(|c: char| "`'\"()[]{},;:!?«»“”„".contains(c)));
    let bare = bare.map(|word| word.trim_end_matches(['.', '`']));
    bare.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether a sentence asks for a change: a verb at its beginning or after `and`, without a condition. What is to be made, such
/// as a summary, can be a text in the answer.
fn orders_change(sentence: &Sentence) -> bool {
    let words: Vec<&str> =
        sentence.words.iter().map(String::as_str).filter(|word| *word != "please").collect();
    // Not `Change nothing else`, `Update me`, or a verb alone.
    let is_about_files = |at: usize| {
        let next = &words[at + 1..words.len().min(at + 3)];
        let names_something = !next.is_empty() || !sentence.located_paths().is_empty();
        names_something
            && next.first() != Some(&"me")
            && !next.iter().any(|word| means(word, Meaning::Nothing))
    };
    // Not in `Explain how to add and remove`.
    let is_order = |at: usize| {
        let joins = || JOINTS.contains(&words[at - 1]);
        at == 0 || joins() && !words[..at].iter().any(|word| means(word, Meaning::Infinitive))
    };
    let asks =
        |at: usize| means(words[at], Meaning::ToChange) && is_order(at) && is_about_files(at);
    !sentence.has(Meaning::Condition) && (0..words.len()).any(asks)
}

#[cfg(test)]
mod tests {
    use super::AskedWork;

    #[test]
    fn a_task_asks_for_the_files_that_are_the_object_of_its_order() {
        for (task, path, expected) in [
            ("Write its tests.", "test/calc.test.sh", true),
            ("Add unit tests for calc.", "test/calc.test.sh", true),
            ("Create check.sh with a check of calc.", "check.sh", true),
            ("Напиши тесты для calc.", "test/calc.test.sh", true),
            ("Write its tests.", "check.sh", false),
            ("Write calc so that the tests pass.", "test/calc.test.sh", false),
            ("Create calc.py so that check.sh passes.", "check.sh", false),
            ("Implement add and run the tests.", "test/calc.test.sh", false),
            ("Fix the failing tests.", "test/calc.test.sh", false),
            ("Run check.sh.", "check.sh", false),
        ] {
            assert_eq!(AskedWork::of(task).asks_for(path), expected, "{task}");
        }
    }

    #[test]
    fn a_new_file_can_be_what_an_order_names_before_its_purpose() {
        for (task, path, expected) in [
            ("Implement fib in fib.py.", "fib.py", true),
            ("Write the program to bin/fib.", "bin/fib", true),
            ("Create the script `verify`.", "verify", true),
            ("Create a.sh, b.sh and c.sh.", "c.sh", true),
            ("Read notes.md and write run.sh with what it says.", "run.sh", true),
            ("Write tests/run.sh.", "tests/run.sh", true),
            ("Fix add in calc.py so that check.sh passes.", "check.sh", false),
            ("Fix add in calc.py and run check.sh.", "check.sh", false),
            ("Fix add in calc.py until `sh check.sh` passes.", "check.sh", false),
            ("Fix add in calc.py.", "check.sh", false),
            ("Run check.sh.", "check.sh", false),
        ] {
            assert_eq!(AskedWork::of(task).may_ask_for(path), expected, "{task}");
        }
    }

    #[test]
    fn a_task_asks_for_a_change_with_a_verb_and_without_a_condition() {
        for (task, expected) in [
            ("Fix add in calc/core.py.", true),
            ("Please update calc/core.py so that add rejects strings.", true),
            ("Read docs/a.md and fix the links in it.", true),
            ("Add a function mul to calc/core.py.", true),
            ("Read docs/a.md. Then rename it to docs/b.md.", true),
            ("Исправь add в calc/core.py.", true),
            ("Behebe den Fehler in calc/core.py.", true),
            ("Fix the failing tests.", true),
            ("Implement mul.", true),
            ("Remove calc/core.py.", true),
            ("Review calc/core.py.", false),
            ("Explain how to fix calc/core.py.", false),
            ("Describe what to add and remove in calc/core.py.", false),
            ("Fix calc/core.py if the tests fail.", false),
            ("Update docs/a.md as needed.", false),
            ("Change nothing in docs/a.md.", false),
            ("Do not change docs/a.md.", false),
            ("Update me on docs/a.md.", false),
            ("Write a summary of the module.", false),
            ("Improve ", false),
            ("The fix of calc/core.py is old.", false),
        ] {
            assert_eq!(AskedWork::of(task).order.is_some(), expected, "{task}");
        }
    }
}
