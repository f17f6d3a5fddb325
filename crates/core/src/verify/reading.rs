//! Whether a check read the whole of a sentence: the record shows what it says, and nothing is left of it but words that
//! say nothing by themselves.
//!
//! No list says which words are suspicious. A word, number, path or name that no check compared leaves its sentence
//! unchecked, in any language.

use super::finding::Finding;
use super::omission::says_only;
use super::shell::Script;
use super::statement::{
    Act, Meaning, Sentence, Statement, TestClaim, Token, is_function_word, is_runner, means,
    number, tokens,
};
use super::support::{Record, Support};
use crate::evidence::Verdict;
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// The record, as far as it can show a sentence.
pub(super) struct Reading<'r> {
    pub(super) record: &'r Record<'r>,
    /// The verdict over a result of tests.
    pub(super) tests: &'r dyn Fn(TestClaim) -> Finding,
}

impl Reading<'_> {
    /// Whether a sentence was read as a whole, or each of its clauses.
    pub(super) fn has_read(&self, text: &str) -> bool {
        let all = clauses(text);
        self.is_shown(text, false)
            || all.len() > 1 && all.iter().all(|clause| self.is_shown(clause, false))
    }

    /// Whether a key with its value was read, as the sentence of their words.
    pub(super) fn has_read_key(&self, text: &str) -> bool {
        self.is_shown(text, true)
    }

    fn is_shown(&self, text: &str, in_key: bool) -> bool {
        let text = &self.without_places(text);
        let sentence = Sentence::whole(text);
        if let Some(claim) = sentence.understood_tests() {
            let commands = tokens(text).iter().all(|part| match part {
                Token::Code(code) => self.record.is_recorded_command(code),
                Token::Word(word) => !is_runner(word) || self.has_run(word),
                Token::Path(_) => false,
            });
            return commands && (self.tests)(claim).verdict == Verdict::Passed;
        }
        let Some(act) = sentence.act() else { return false };
        let said = Statement { sentence, act: Some(act), in_key, entry: None, denied: false };
        self.record.supports(&said) == Support::Shown && self.is_covered(text, &said, act)
    }

    /// A text without the lines behind its paths (`a.py:12`, `a.py#L3-L9`, `a.py (line 12)`) that the step changed.
    fn without_places<'t>(&self, text: &'t str) -> Cow<'t, str> {
        static PLACE: LazyLock<Regex> = LazyLock::new(|| {
            let lines = r"(\d+)(?:[-–]L?(\d+))?";
            let place = format!(
                r"([^\s`()\[\],;:]+)(`?)(?:(?::|#L){lines}|\s\((?:lines?|L|строк\S*|Zeilen?) ?{lines}\))"
            );
            Regex::new(&place).expect("a pattern")
        });
        PLACE.replace_all(text, |found: &Captures<'_>| {
            let number = |at: usize| found.get(at).and_then(|number| number.as_str().parse().ok());
            let first: Option<u64> = number(3).or_else(|| number(5));
            let last = number(4).or_else(|| number(6)).or(first);
            let path = &found[1];
            let changes = self.record.changes;
            let is_there = first.zip(last).is_some_and(|(first, last)| {
                let mut own = changes.changed().filter(|own| self.record.is_same(own, path));
                own.any(|own| changes.history(own).has_changed_line(first..=last))
            });
            if is_there { format!("{path}{}", &found[2]) } else { found[0].to_owned() }
        })
    }

    /// Whether a recorded command has a word.
    fn has_run(&self, word: &str) -> bool {
        let mut used = self.record.runs.iter().flat_map(|run| &run.script.commands);
        used.any(|used| used.argv.iter().any(|own| own.rsplit('/').next() == Some(word)))
    }

    /// Whether each part of a sentence that the record supports was compared.
    fn is_covered(&self, text: &str, said: &Statement, act: Act) -> bool {
        let parts = tokens(text);
        let compared = Compared::of(self.record, said, act, &parts);
        compared.is_enough()
            && compared.has_sides(text)
            && parts.iter().all(|part| match part {
                Token::Path(path) => compared.path(path),
                Token::Code(code) => compared.code(code),
                Token::Word(word) => is_function_word(word) || compared.word(word),
            })
    }
}

/// What the check of an act compares.
struct Compared<'c> {
    record: &'c Record<'c>,
    said: &'c Statement,
    act: Act,
    paths: Vec<&'c str>,
    has_command: bool,
    /// Whether a word says that something was added.
    adds: bool,
    /// Whether what was added are the files themselves.
    adds_files: bool,
}

impl<'c> Compared<'c> {
    fn of(record: &'c Record<'c>, said: &'c Statement, act: Act, parts: &'c [Token]) -> Self {
        let paths = parts.iter().filter_map(|part| match part {
            Token::Path(path) => Some(path.as_str()),
            Token::Word(_) | Token::Code(_) => None,
        });
        let is_command = |part: &Token| match part {
            Token::Code(code) => !Script::of_text(code).commands.is_empty(),
            Token::Word(_) | Token::Path(_) => false,
        };
        let has_command = parts.iter().any(is_command);
        let is_addition = |part: &Token| match part {
            Token::Word(word) => means(word, Meaning::Wrote),
            Token::Code(_) | Token::Path(_) => false,
        };
        let adds = parts.iter().any(is_addition);
        let is_content = |part: &Token| match part {
            Token::Word(word) => {
                number(word).is_some() || means(word, Meaning::Lines) || means(word, Meaning::Part)
            }
            Token::Code(_) => true,
            Token::Path(_) => false,
        };
        let adds_files = adds && !parts.iter().any(is_content);
        Compared { record, said, act, paths: paths.collect(), has_command, adds, adds_files }
    }

    /// Whether the sentence names what its check needs, so that it is not supported by anything that happened.
    fn is_enough(&self) -> bool {
        match self.act {
            Act::Created | Act::Changed | Act::Deleted | Act::Renamed => {
                !self.paths.is_empty() || self.record.changes.changed().any(|path| self.fits(path))
            }
            Act::Contains | Act::Read | Act::Kept => !self.paths.is_empty(),
            Act::Ran | Act::Failed => self.has_command,
            Act::Passed => self.has_command,
            Act::Only => says_only(self.said) && !limits_act(&self.said.sentence.words),
            Act::Committed | Act::Outside | Act::Digest => true,
        }
    }

    /// Whether texts in backticks are on the sides of the difference where the sentence has them.
    fn has_sides(&self, text: &str) -> bool {
        match self.act {
            Act::Created | Act::Changed => self.record.has_sides(text, &self.paths, self.adds),
            Act::Deleted
            | Act::Renamed
            | Act::Only
            | Act::Contains
            | Act::Digest
            | Act::Kept
            | Act::Read
            | Act::Ran
            | Act::Passed
            | Act::Failed
            | Act::Committed
            | Act::Outside => true,
        }
    }

    fn path(&self, path: &str) -> bool {
        let is_changed = |path: &str| {
            let is_named = |own: &str| {
                let below = path.ends_with('/') && own.starts_with(path.trim_start_matches("./"));
                below || self.record.is_same(own, path)
            };
            let mut changed = self.record.changes.changed();
            changed.any(|own| is_named(own) && self.fits(own))
        };
        match self.act {
            Act::Created | Act::Changed | Act::Deleted | Act::Renamed | Act::Only => {
                is_changed(path)
            }
            Act::Contains | Act::Read | Act::Digest | Act::Kept => true,
            Act::Committed | Act::Outside | Act::Failed | Act::Passed | Act::Ran => false,
        }
    }

    /// Whether a change is of the kind that the sentence says.
    fn fits(&self, path: &str) -> bool {
        let history = self.record.changes.history(path);
        let (was, is) = (history.before().is_some(), history.after().is_some());
        match self.act {
            Act::Created => !was && is,
            Act::Changed => is && (!self.adds_files || !was),
            Act::Renamed => was != is,
            _ => self.record.has_kind(path, self.act),
        }
    }

    /// A command is compared by the support of the sentence; a name has to be in one of its files, or in a difference.
    fn code(&self, code: &str) -> bool {
        match self.act {
            Act::Contains => self.record.has_name_in(code, &self.paths),
            Act::Created | Act::Changed => {
                let adds = self.adds || self.act == Act::Created;
                self.record.has_changed_name(code, &self.paths, adds)
            }
            Act::Passed | Act::Ran | Act::Failed | Act::Committed | Act::Outside => {
                self.record.is_recorded_command(code)
            }
            Act::Deleted | Act::Renamed | Act::Only | Act::Digest | Act::Read | Act::Kept => false,
        }
    }

    fn word(&self, word: &str) -> bool {
        let is = |act| means(word, Meaning::Act(act));
        if let Some(number) = number(word) {
            return self.number(word, number);
        }
        // `true` is no number of files.
        if word == "true" {
            let has = |unit| self.said.sentence.has(unit);
            return self.said.in_key && !has(Meaning::Files) && !has(Meaning::Lines);
        }
        match self.act {
            Act::Kept => is(Act::Kept) || is_file(word),
            Act::Created => is(Act::Created) || word == "added" || is_file(word),
            // The names of the parts are compared.
            Act::Changed if self.said.in_key && means(word, Meaning::Part) => {
                !self.said.sentence.names().is_empty()
            }
            Act::Changed | Act::Deleted | Act::Renamed => {
                is(self.act) && !means(word, Meaning::Effect)
                    || is_file(word)
                    || self.is_counted_line(word)
            }
            Act::Contains => is(Act::Contains) || is_file(word) || means(word, Meaning::Part),
            Act::Read => is(Act::Read) && !means(word, Meaning::Effect) || is_file(word),
            Act::Digest => {
                is(Act::Digest) || word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit())
            }
            Act::Only => {
                is(Act::Only) || means(word, Meaning::Change) || is_file(word) || is_only(word)
            }
            Act::Passed | Act::Ran | Act::Failed => {
                is(Act::Ran) || self.is_named(word) || is_result(word, self.act)
            }
            Act::Committed => is_commit(word) || is_commit_digest(word) || word == "git",
            Act::Outside => is(Act::Outside),
        }
    }

    /// Whether a command of the sentence has a word.
    fn is_named(&self, word: &str) -> bool {
        self.said.sentence.code().any(|code| code.to_lowercase().split(' ').any(|own| own == word))
    }

    fn is_counted_line(&self, word: &str) -> bool {
        let lines = self.said.sentence.numbers_of(Meaning::Lines, self.said.in_key);
        means(word, Meaning::Lines) && !lines.is_empty()
    }

    /// Whether a number was compared as one of files or of lines. An exit code of 0 is what its command must have.
    fn number(&self, word: &str, number: u64) -> bool {
        let Statement { sentence, in_key, .. } = self.said;
        let exits = || sentence.words.iter().any(|word| word.starts_with("exit"));
        let of = |unit| sentence.numbers_of(unit, *in_key).contains(&number);
        let changed = self.record.changes.changed().filter(|path| self.fits(path)).count() as u64;
        match self.act {
            Act::Passed | Act::Ran => word == "0" && self.has_command && exits(),
            Act::Created | Act::Changed | Act::Deleted | Act::Renamed => {
                let is_share = sentence.numbers().count() > 1 && !of(Meaning::Lines);
                !is_share && (of(Meaning::Files) && number == changed || of(Meaning::Lines))
            }
            Act::Contains | Act::Only | Act::Read | Act::Digest | Act::Kept => false,
            Act::Committed | Act::Outside | Act::Failed => false,
        }
    }
}

/// Whether a word is one for files of any kind.
fn is_file(word: &str) -> bool {
    const FILES: &str = "file files folder folders path paths datei dateien ordner файл файлы файла файлов папка папки";
    FILES.split_whitespace().any(|known| known == word)
}

fn is_result(word: &str, act: Act) -> bool {
    let exits = ["exit", "exits", "exited", "code"].contains(&word);
    match act {
        Act::Failed => means(word, Meaning::Act(Act::Failed)),
        _ => exits || means(word, Meaning::Success) || word == "clean",
    }
}

/// Whether the last word limits the act before it and not the files: `touched only`.
fn limits_act(words: &[String]) -> bool {
    let is_change = |word: &String| means(word, Meaning::Change);
    matches!(words, [.., act, only] if is_change(act) && ["only", "nur", "только"].contains(&only.as_str()))
}

fn is_only(word: &str) -> bool {
    ["no", "these", "this", "ничего", "не", "другие", "эти", "этот"].contains(&word)
}

fn is_commit(word: &str) -> bool {
    ["commit", "commits", "committed", "sha", "закоммичено", "коммит", "committet"].contains(&word)
}

/// Whether a word is a digest that the check of a commit compares.
fn is_commit_digest(word: &str) -> bool {
    word.len() >= 7
        && word.chars().all(|c| c.is_ascii_hexdigit())
        && word.contains(|c: char| c.is_ascii_digit())
}

/// The clauses of a sentence, split at commas, brackets and joints. One without a verb belongs to the one before it.
fn clauses(text: &str) -> Vec<String> {
    const JOINTS: [&str; 5] = ["and", "then", "und", "и", "dann"];
    let mut parts = vec![String::new()];
    let mut in_code = false;
    for word in text.split_inclusive([' ', '\n']) {
        let bare = word.trim();
        let begins = JOINTS.contains(&bare.to_lowercase().as_str()) || bare.starts_with('(');
        if begins && !in_code {
            parts.push(String::new());
        }
        let last = parts.len() - 1;
        parts[last].push_str(word);
        in_code ^= word.matches('`').count() % 2 == 1;
        if !in_code && bare.ends_with([',', ':', ')']) || bare == "–" || bare == "—" {
            parts.push(String::new());
        }
    }
    let mut found: Vec<String> = Vec::new();
    for part in parts.into_iter().filter(|part| !tokens(part).is_empty()) {
        let sentence = Sentence::whole(&part);
        let states = sentence.act().is_some() || sentence.understood_tests().is_some();
        match found.last_mut() {
            Some(last) if !states => last.push_str(&part),
            _ => found.push(part),
        }
    }
    found
}
