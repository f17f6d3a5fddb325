//! The statements of an output that no check read: values of keys, and sentences of texts.
//!
//! A value was read if the claims of the output would be others with another value, and each key above it if they would
//! be others below another key. So nothing here has to know what the readers of claims read.

use super::call_claim::{CallClaim, call_claims};
use super::claim::{Claim, claims_of, has_entries, listed_kinds};
use super::command_claim::{CommandClaim, command_lists};
use super::gate::Gate;
use super::keys::{is_neutral, words};
use super::listed_commands::once;
use super::reading::Reading;
use super::statement::{Sentence, TestClaim, Token, is_function_word, names_code, tokens};
use super::test_claim::keyed_test_claims;
use super::test_numbers::{TestNumbers, test_numbers};
use crate::evidence::{CheckDetail, Verdict};
use kb_base::value::Json;
use serde_json::json;

/// Most values that are compared one by one; further ones count as unread.
const VALUES: usize = 300;
/// Statements that the evidence lists, and the characters of each.
const LISTED: usize = 20;
const SHOWN: usize = 160;

/// How many statements of an output were read, and those that were not.
#[derive(Default)]
pub(super) struct Partition {
    read: usize,
    unread: Vec<Unread>,
    /// Number of unread statements, also of those that are not listed.
    open: usize,
}

struct Unread {
    key: String,
    text: String,
}

impl Partition {
    /// The statements of the output of a gate. Keys that the author calls commentary, and those that a check of the
    /// gate reads, have none.
    pub(super) fn of(gate: &Gate, writes: bool, reading: &Reading<'_>) -> Partition {
        let mut walk = Walk {
            gate,
            writes,
            reading,
            whole: claimed(&gate.output, gate, writes),
            keys: Vec::new(),
            found: Partition::default(),
        };
        match &*gate.output {
            Json::Object(fields) => {
                let own = fields.iter().filter(|(key, _)| !gate.excused.contains(key));
                let around = Around { value: &gate.output, depth: 0, is_entry: false };
                own.for_each(|(key, value)| walk.field(key, value, around));
            }
            other => walk.value(other, None),
        }
        walk.found
    }

    /// What lowers a gate that passed otherwise.
    pub(super) fn detail(&self) -> Option<CheckDetail> {
        let first = self.unread.first()?;
        let place = if first.key.is_empty() { String::new() } else { format!("{}: ", first.key) };
        let verb = if self.open == 1 { "was" } else { "were" };
        let more = match self.open - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let held = match self.read {
            0 => String::new(),
            1 => "1 statement holds, ".to_owned(),
            read => format!("{read} statements hold, "),
        };
        let noun = match (self.read, self.open) {
            (0, 1) => " statement",
            (0, _) => " statements",
            _ => "",
        };
        let reason = format!(
            "{held}{}{noun} {verb} not checked: {place}\"{}\"{more}",
            self.open, first.text
        );
        let listed = self.unread.iter().map(|own| json!({"key": own.key, "text": own.text}));
        let evidence = json!({"read": self.read, "unread": listed.collect::<Vec<_>>()});
        Some(CheckDetail {
            check: "unchecked statements".to_owned(),
            verdict: Verdict::Unchecked,
            warning: false,
            reason: Some(reason),
            evidence: Some(evidence),
        })
    }
}

/// A step from a value to one below it.
#[derive(Clone)]
enum Step<'v> {
    Key(&'v str),
    Item,
}

/// What is read together with a value: the entry of a list that has it, or the object that has it.
#[derive(Clone, Copy)]
struct Around<'v> {
    value: &'v Json,
    /// Number of steps from the output.
    depth: usize,
    is_entry: bool,
}

struct Walk<'w, 'v> {
    gate: &'w Gate,
    writes: bool,
    reading: &'w Reading<'w>,
    /// The claims of the whole output, which are those that are checked.
    whole: Typed,
    keys: Vec<Step<'v>>,
    found: Partition,
}

/// The claims that are no sentences.
#[derive(PartialEq)]
struct Typed {
    files: Vec<Claim>,
    commands: Vec<CommandClaim>,
    tests: Vec<TestClaim>,
    numbers: Vec<TestNumbers>,
    calls: Vec<CallClaim>,
    lists: usize,
}

impl<'v> Walk<'_, 'v> {
    fn field(&mut self, key: &'v str, value: &'v Json, around: Around<'v>) {
        self.keys.push(Step::Key(key));
        self.value(value, Some(around));
        self.keys.pop();
    }

    fn value(&mut self, value: &'v Json, around: Option<Around<'v>>) {
        match value {
            Json::Object(fields) if !fields.is_empty() => {
                let own = Around { value, depth: self.keys.len(), is_entry: false };
                let around = around.filter(|around| around.is_entry).unwrap_or(own);
                fields.iter().for_each(|(key, value)| self.field(key, value, around));
            }
            // The words of a command.
            Json::Array(words)
                if around.is_some_and(|around| around.is_entry)
                    && !words.is_empty()
                    && words.iter().all(Json::is_string)
                    && self.is_claim(value, around) =>
            {
                self.found.read += 1;
            }
            Json::Array(items) if !items.is_empty() => {
                self.keys.push(Step::Item);
                let depth = self.keys.len();
                let entry = |value| Some(Around { value, depth, is_entry: true });
                items.iter().for_each(|item| self.value(item, entry(item)));
                self.keys.pop();
            }
            Json::Null => self.key_alone(),
            Json::String(text) if text.trim().is_empty() => self.key_alone(),
            value if self.found.read + self.found.open >= VALUES => self.leave(&shown(value)),
            value if self.is_claim(value, around) => self.found.read += 1,
            Json::String(text) => self.text(text),
            value => {
                let text = format!("{} {}", self.said_keys(), shown(value));
                let has_number = value.is_number() || value == &Json::Bool(true);
                if has_number && self.reading.has_read_key(text.trim()) {
                    self.found.read += 1;
                } else {
                    self.leave(&shown(value));
                }
            }
        }
    }

    /// The key of no value: it says something if it is a sentence, or another name than that of a field (`docs/x.md`, `12`).
    fn key_alone(&mut self) {
        let Some(Step::Key(key)) = self.keys.last() else { return };
        let of_field = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let is_field = key.chars().all(of_field) && key.contains(char::is_alphabetic);
        let is_sentence = key.contains(char::is_whitespace);
        let says = if is_sentence { self.said_keys().contains(' ') } else { !is_field };
        if says && !key.is_empty() {
            self.leave(key);
        }
    }

    /// The sentences of a text. A word or two are the value of their key.
    fn text(&mut self, text: &str) {
        let keys = self.said_keys();
        // `Done.` below a key says nothing that the key does not say.
        if !keys.is_empty() && says_nothing(text) {
            return self.leave(text);
        }
        let is_name = names_code(&keys) && !text.contains(char::is_whitespace);
        let said = if is_name { format!("{keys} `{text}`") } else { format!("{keys} {text}") };
        if !keys.is_empty() && self.reading.has_read_key(said.trim()) {
            self.found.read += 1;
            return;
        }
        for sentence in Sentence::all_with_quotes(text) {
            if keys.is_empty() && self.reading.has_read(&sentence.text) {
                self.found.read += 1;
            } else if !says_nothing(&format!("{keys} {}", sentence.text)) {
                self.leave(&sentence.text);
            }
        }
    }

    /// The words of the keys above a value, without keys that say nothing.
    fn said_keys(&self) -> String {
        let own = self.keys.iter().filter_map(|step| match step {
            Step::Key(key) if key.contains(['/', '.']) => Some((*key).to_owned()),
            Step::Key(key) if !is_neutral(key) => Some(words(key).join(" ")),
            Step::Key(_) | Step::Item => None,
        });
        own.collect::<Vec<_>>().join(" ")
    }

    fn leave(&mut self, text: &str) {
        self.found.open += 1;
        if self.found.unread.len() < LISTED {
            let keys = self.keys.iter().filter_map(|step| match step {
                Step::Key(key) => Some(*key),
                Step::Item => None,
            });
            let key = keys.collect::<Vec<_>>().join(".");
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let cut: String = line.chars().take(SHOWN).collect();
            let text = if cut.len() < line.len() { format!("{cut}…") } else { cut };
            self.found.unread.push(Unread { key, text });
        }
    }

    /// Whether the claims of the output depend on a value and on the keys above it: of the value alone, or of the entry
    /// or the object that has it.
    fn is_claim(&self, value: &Json, around: Option<Around<'v>>) -> bool {
        let alone = |value: &Json, keys: &[Step<'_>]| self.claims(&nested(value.clone(), keys));
        let depends = |own: &dyn Fn(&Json, &[Step<'_>]) -> Typed| {
            let claimed = own(value, &self.keys);
            // A value of another kind would be a claim; this one is none.
            let is_none = claimed == own(&Json::Null, &self.keys) && !value.is_array();
            if is_none || !self.whole.has(&claimed) {
                return false;
            }
            let named = |at: usize| {
                let Step::Key(key) = self.keys[at] else { return true };
                let mut keys = self.keys.clone();
                keys[at] = Step::Key("zq");
                is_neutral(key) || is_list(key) || own(value, &keys) != claimed
            };
            let above = self.keys.len().saturating_sub(1);
            own(&other(value), &self.keys) != claimed && (0..above).all(named)
        };
        let Some(around) = around else { return depends(&alone) };
        let beside = |value: &Json, keys: &[Step<'_>]| {
            let (above, below) = keys.split_at(around.depth);
            let names = &self.keys[around.depth..];
            self.claims(&nested(replaced(around.value, names, below, value), above))
        };
        depends(&alone) || depends(&beside)
    }

    fn claims(&self, output: &Json) -> Typed {
        claimed(output, self.gate, self.writes)
    }
}

fn claimed(output: &Json, gate: &Gate, writes: bool) -> Typed {
    let files = claims_of(output, &gate.root, writes);
    Typed {
        lists: listed_kinds(output, &[]).len(),
        files: files.into_iter().filter(|claim| !claim.noted && claim.below.is_none()).collect(),
        commands: once(&command_lists(output, |_| false)),
        tests: keyed_test_claims(output).into_iter().filter(|claim| claim.understood).collect(),
        numbers: test_numbers(output, &gate.trace),
        calls: call_claims(output),
    }
}

impl Typed {
    /// Whether these claims have all of the others.
    fn has(&self, others: &Typed) -> bool {
        others.files.iter().all(|claim| self.files.iter().any(|own| own.says(claim)))
            && others
                .commands
                .iter()
                .all(|claim| self.commands.iter().any(|own| own.is_same(claim)))
            && others.numbers.iter().all(|own| self.numbers.contains(own))
            && others.calls.iter().all(|claim| self.calls.contains(claim))
            && others.tests.iter().all(|claim| self.tests.iter().any(|own| own.says(*claim)))
    }
}

/// Whether a key has a list of changed files, whose entries say what happened.
fn is_list(key: &str) -> bool {
    has_entries(key) || words(key) == ["files"]
}

/// Whether a sentence has no word that says something by itself, or only refers to other parts of the report.
fn says_nothing(text: &str) -> bool {
    let parts = tokens(text);
    let has_only = |parts: &[Token], known: fn(&str) -> bool| {
        parts.iter().all(|part| matches!(part, Token::Word(word) if known(word)))
    };
    let refers = |first: &Token| matches!(first, Token::Word(word) if ["see", "siehe", "см"].contains(&word.as_str()));
    let of_report = |word: &str| is_function_word(word) || is_neutral(word) || word == "fields";
    let is_reference = |(first, rest)| refers(first) && has_only(rest, of_report);
    has_only(&parts, is_function_word) || parts.split_first().is_some_and(is_reference)
}

/// A value below keys and lists.
fn nested(value: Json, keys: &[Step<'_>]) -> Json {
    keys.iter().rev().fold(value, |value, step| match step {
        Step::Key(key) => json!({ *key: value }),
        Step::Item => json!([value]),
    })
}

/// A value with another one at the end of keys, and other names for these keys.
fn replaced(within: &Json, keys: &[Step<'_>], names: &[Step<'_>], value: &Json) -> Json {
    let (Some((Step::Key(key), keys)), Some((Step::Key(name), names))) =
        (keys.split_first(), names.split_first())
    else {
        return value.clone();
    };
    let fields = within.as_object().into_iter().flatten();
    let fields = fields.map(|(own, below)| match own == key {
        true => ((*name).to_owned(), replaced(below, keys, names, value)),
        false => (own.clone(), below.clone()),
    });
    Json::Object(fields.collect())
}

/// Another value of the same kind, which no report has.
fn other(value: &Json) -> Json {
    match value {
        Json::Bool(value) => json!(!value),
        Json::Number(number) => json!(number.as_u64().unwrap_or(1).wrapping_add(1_000_003)),
        Json::String(_) => json!("zq/zq zq.zq"),
        Json::Array(_) => json!(["zq/zq zq.zq"]),
        Json::Object(_) | Json::Null => Json::Null,
    }
}

fn shown(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
