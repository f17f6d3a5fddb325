//! Statements of an output: what its sentences and keys say that the step did.
//!
//! The one reader of sentences. `words` is the table of words, `sentence` splits a text and leaves out what it quotes,
//! `tests` reads results of tests. A key with its values is read as a sentence:
//! `{files: [{path: a.py, action: created}]}` says `files path a.py action created`.

mod act;
mod quantities;
mod result;
mod roles;
mod sentence;
mod share;
mod tests;
mod tokens;
mod words;

pub(super) use act::Act;
pub(super) use quantities::LineChange;
pub(super) use result::TestClaim;
pub(super) use roles::is_runner;
pub(super) use sentence::{Sentence, is_path, is_quoted_path, paths};
pub(super) use tests::{of_text, tests_of};
pub(super) use tokens::{Token, is_function_word, tokens};
pub(super) use words::{Meaning, means, number};

use super::keys;
use kb_base::value::Json;

/// Most statements that are read, and the bytes of one text that are read.
const READ: usize = 500;
const TEXT: usize = 20_000;

/// A sentence, or a key with its values.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    pub(super) sentence: Sentence,
    /// What it says; `None` if it says nothing about the step.
    pub(super) act: Option<Act>,
    /// Whether a key says so: then its numbers are values and no words of a text.
    pub(super) in_key: bool,
    /// The whole value of a key that says what was done, if the statement is one: an entry of a list, whatever mark it ends
    /// with.
    pub(super) entry: Option<String>,
    /// Whether a field of its entry says that what the entry names is not there or was not done: `exists: false`.
    pub(super) denied: bool,
}

/// The statements of an output, without the keys that another check reads.
pub(super) fn statements(output: &Json, is_read: &dyn Fn(&str, &Json) -> bool) -> Vec<Statement> {
    let mut found = Vec::new();
    Reader { is_read, found: &mut found }.collect(output, "");
    found.truncate(READ);
    found
}

/// The part of the summary that is read.
pub(super) fn summary(output: &Json) -> &str {
    beginning(output.get("summary").and_then(Json::as_str).unwrap_or_default())
}

/// Whether an output says that no change was needed: in a sentence, or with `noop` and `changed: false`.
pub(super) fn says_no_change(output: &Json) -> bool {
    let sentences = Sentence::all(summary(output));
    let says = |sentence: &Sentence| {
        let acts = [Act::Created, Act::Deleted, Act::Renamed];
        sentence.has(Meaning::Nothing)
            && sentence.has(Meaning::Needed)
            && !acts.iter().any(|act| sentence.says(*act))
    };
    let keyed = |(key, value): (&String, &Json)| match value {
        Json::Bool(true) => keys::is_key(key, &["noop", "nochange", "unchanged"]),
        Json::Bool(false) => keys::is_key(key, &["changed", "changesmade", "changesneeded"]),
        _ => false,
    };
    sentences.iter().any(says) || keys::sources(output).flatten().any(keyed)
}

/// Whether a sentence of a text begins with what the step changed: `Fixed the parser`, `I've added a test`.
pub(super) fn says_change(text: &str) -> bool {
    let acts = [Act::Created, Act::Changed, Act::Deleted, Act::Renamed].map(Meaning::Act);
    let is_change =
        |word: &String| acts.iter().any(|act| means(word, *act)) && !means(word, Meaning::Filler);
    let is_now = |word: &String| ["is", "are", "ist", "sind"].contains(&word.as_str());
    Sentence::all(text).iter().any(|sentence| {
        let mut words = sentence.words.iter().filter(|word| !is_first_person(word));
        let states = !sentence.has(Meaning::Unreal) && !sentence.has(Meaning::Nothing);
        let states = states && !sentence.words.iter().any(is_now);
        states && words.next().is_some_and(is_change)
    })
}

fn is_first_person(word: &str) -> bool {
    ["i", "i've", "we", "we've", "have", "я", "мы", "ich", "wir", "habe", "haben"].contains(&word)
}

fn beginning(text: &str) -> &str {
    let end = (0..=text.len().min(TEXT)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

struct Reader<'r> {
    is_read: &'r dyn Fn(&str, &Json) -> bool,
    found: &'r mut Vec<Statement>,
}

impl Reader<'_> {
    fn add(&mut self, text: &str, in_key: bool) {
        Sentence::all(text.trim()).into_iter().for_each(|sentence| self.push(sentence, in_key));
    }

    fn push(&mut self, sentence: Sentence, in_key: bool) {
        let act = sentence.act();
        self.found.push(Statement { sentence, act, in_key, entry: None, denied: false });
    }

    fn value(&mut self, key: &str, value: &Json) {
        self.add(&format!("{key} {}", text_of(value)), true);
    }

    /// The statements of a value below the words of its keys.
    fn collect(&mut self, value: &Json, key: &str) {
        let states = Sentence::all(key).iter().any(|key| key.act().is_some());
        match value {
            // A word or two without a number or a path say nothing that can be compared, unless the key says what was done.
            Json::String(text) if is_short(text) => {
                if !states && names_code(key) && paths(text).is_empty() {
                    let named = Sentence::all(&format!("{key} `{text}`"));
                    let said = |sentence| Statement {
                        sentence,
                        act: None,
                        in_key: true,
                        entry: None,
                        denied: false,
                    };
                    self.found.extend(named.into_iter().map(said));
                } else if states || is_definite(text) {
                    self.value(key, value);
                }
            }
            Json::String(text) => {
                let key = if states { key } else { "" };
                for sentence in Sentence::all(beginning(text)) {
                    self.push(sentence.below(key), false);
                    if let Some(said) = self.found.last_mut().filter(|_| states) {
                        said.entry = Some(text.clone());
                    }
                }
            }
            Json::Bool(true) | Json::Number(_) => self.value(key, value),
            // Numbers in a list are places, such as lines, and no counts.
            Json::Array(items) => {
                let said = items.iter().filter(|item| !item.is_number());
                said.for_each(|item| self.collect(item, key));
            }
            Json::Object(fields) => self.object(fields, key),
            Json::Null | Json::Bool(false) => {}
        }
    }

    fn object(&mut self, fields: &kb_base::value::JsonMap, key: &str) {
        let is_other = |key: &str, value: &Json| {
            let name = keys::words(key).concat();
            means(&name, Meaning::OtherKey) || (self.is_read)(key, value)
        };
        let fields: Vec<_> = fields.iter().filter(|(key, value)| !is_other(key, value)).collect();
        let is_flat = |value: &Json| value.as_str().is_some_and(is_short) || value.is_number();
        let is_entry = fields.len() > 1 && !key.is_empty();
        let before = self.found.len();
        let denied = fields.iter().any(|(name, value)| denies_presence(name, value));
        if is_entry {
            let flat = fields.iter().filter(|(_, value)| is_flat(value));
            let is_name = |name: &str, value: &Json| {
                let names = names_code(name) || name == "name" && names_code(key);
                names && value.as_str().is_some_and(|text| !text.contains(char::is_whitespace))
            };
            let said = flat.map(|(name, value)| match is_name(name, value) {
                true => format!("{} `{}`", name_of(name), text_of(value)),
                false => format!("{} {}", name_of(name), text_of(value)),
            });
            self.add(&format!("{key} {}", said.collect::<Vec<_>>().join(" ")), true);
        }
        let (flat, nested): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_flat(value));
        for (name, value) in flat.into_iter().filter(|_| !is_entry) {
            self.collect(value, format!("{key} {}", name_of(name)).trim());
        }
        self.found[before..].iter_mut().for_each(|said| said.denied = denied);
        for (name, value) in nested {
            self.collect(value, format!("{key} {}", name_of(name)).trim());
        }
    }
}

/// Whether a field of an entry says that what the entry names is not there: `exists: false`, `missing: true`,
/// `status: not found`.
fn denies_presence(name: &str, value: &Json) -> bool {
    let denies = |text: &str| {
        let meanings = [Meaning::Absent, Meaning::Denial, Meaning::Without];
        Sentence::all(text).iter().any(|said| meanings.iter().any(|meaning| said.has(*meaning)))
    };
    match value {
        Json::Bool(false) => true,
        Json::Bool(true) => denies(&name_of(name)),
        Json::String(text) => denies(text),
        Json::Null | Json::Number(_) | Json::Array(_) | Json::Object(_) => false,
    }
}

/// The words of a key; one that is a path stays as it is.
fn name_of(key: &str) -> String {
    if key.contains(['/', '.']) { key.to_owned() } else { keys::words(key).join(" ") }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a text is a value and no sentence: `Created src/a.rs` is one, also without a full stop.
fn is_short(text: &str) -> bool {
    let count = text.split_whitespace().count();
    let is_sentence = || {
        let starts = text.split_whitespace().next().map(Sentence::all).unwrap_or_default();
        let acts = [Act::Created, Act::Changed, Act::Deleted];
        count == 2
            && !paths(text).is_empty()
            && starts.iter().any(|word| acts.iter().any(|act| word.says(*act)))
    };
    count < 3 && !text.trim_end().ends_with(['.', '!']) && !is_sentence()
}

/// Whether the values of a key are names of code or of packages.
pub(super) fn names_code(key: &str) -> bool {
    let key = Sentence::all(key);
    key.iter().any(|words| words.has(Meaning::Symbol) || words.has(Meaning::Part))
}

fn is_definite(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit() || c == '`') || !paths(text).is_empty()
}

#[cfg(test)]
mod cases {
    use super::{Act, Sentence, statements};
    use serde_json::json;

    #[test]
    fn keys_and_sentences_state_acts_and_plans_do_not() {
        for (output, expected) in [
            (json!({"result": {"updated": ["a.py"]}}), Some(Act::Changed)),
            (json!({"files": [{"path": "a.py", "action": "created"}]}), Some(Act::Created)),
            (json!({"renamed": {"a.py": "b.py"}}), Some(Act::Renamed)),
            (json!({"committed": true}), Some(Act::Committed)),
            (json!({"filesRead": ["a.py"]}), Some(Act::Read)),
            (json!({"summary": "Создан файл a.py."}), Some(Act::Created)),
            (json!({"summary": "a.py wurde angepasst."}), Some(Act::Changed)),
            (json!({"summary": "The server is running on port 8080."}), Some(Act::Outside)),
            (json!({"summary": "b.py does not exist, so I changed a.py."}), Some(Act::Changed)),
            (json!({"committed": false, "moved": []}), None),
            (json!({"nextSteps": ["a.py is changed"]}), None),
            (json!({"summary": "I did not create notes/tea.md."}), None),
            (json!({"summary": "The page says: \"I created a.py and b.py.\""}), None),
            (json!({"answer": "blue", "score": 5}), None),
        ] {
            let found = statements(&output, &|_, _| false);
            assert_eq!(found.iter().find_map(|said| said.act), expected, "{output}");
        }
    }

    #[test]
    fn only_plain_sentences_name_a_change_that_the_record_must_have() {
        for (text, expected) in [
            ("I created `src/a.rs` and updated `src/b c.rs`.", &["src/a.rs", "src/b c.rs"][..]),
            (
                "I've added the new file src/a.rs, lib/b.py and c/d.ts.",
                &["src/a.rs", "lib/b.py", "c/d.ts"],
            ),
            ("Added `src/a.rs`.", &["src/a.rs"]),
            ("src/a.rs was created.", &["src/a.rs"]),
            ("Создан файл src/a.rs.", &["src/a.rs"]),
            ("Die Datei src/a.rs wurde angelegt.", &["src/a.rs"]),
            ("Added src/a.rs to the index.", &[]),
            ("The implementer created `src/a.rs`.", &[]),
            ("I have not created `src/a.rs`.", &[]),
            ("I fixed the bug in `src/a.rs`.", &[]),
            ("Before this change, someone had modified src/a.rs.", &[]),
            ("I updated https://x.org/a/b.html.", &[]),
        ] {
            let sentences = Sentence::all(text);
            let found: Vec<&str> = sentences.iter().flat_map(|s| s.plain_paths()).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
