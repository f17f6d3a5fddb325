//! A sentence: its words, texts in backticks, quoted names, paths and numbers.

use super::act::Act;
use super::words::{Meaning, acts, means, number, without_marks};

/// One statement of a text, without what it quotes of others.
#[derive(Debug, Clone, Default)]
pub(in crate::verify) struct Sentence {
    /// The text as it is written, without quoted sentences.
    pub(in crate::verify) text: String,
    /// The words in small letters, without paths and punctuation.
    pub(in crate::verify) words: Vec<String>,
    /// Quoted names of up to four words.
    quoted: Vec<String>,
}

/// Most words of a quotation that is a name and no sentence.
const NAME: usize = 4;

impl Sentence {
    /// The sentences of a text: split at punctuation that ends a word, and before words such as `but`.
    pub(in crate::verify) fn all(text: &str) -> Vec<Sentence> {
        let (own, quoted) = without_quotes(text);
        split(&own).iter().map(|text| Sentence::of(text, &quoted)).collect()
    }

    /// The sentences of a text with what they quote.
    pub(in crate::verify) fn all_with_quotes(text: &str) -> Vec<Sentence> {
        split(text).iter().map(|text| Sentence::of(text, &[])).collect()
    }

    /// A text as one sentence.
    pub(in crate::verify) fn whole(text: &str) -> Sentence {
        Sentence::of(text, &[])
    }

    fn of(text: &str, quoted: &[String]) -> Sentence {
        // A quotation is kept as `"N"` until its sentence is known.
        let named = quoted.iter().enumerate().filter(|(at, _)| text.contains(&mark(*at)));
        let quoted: Vec<String> = named.clone().map(|(_, name)| name.clone()).collect();
        let mut text = text.to_owned();
        for (at, _) in named {
            text = text.replace(&mark(at), "");
        }
        let words = words(&text);
        Sentence { text, words, quoted }
    }

    /// The sentence behind the words of its key.
    pub(in crate::verify) fn below(self, key: &str) -> Sentence {
        let text = format!("{key} {}", self.text).trim().to_owned();
        let words = words(key).into_iter().chain(self.words).collect();
        Sentence { text, words, ..self }
    }

    /// Whether a word has a meaning.
    pub(in crate::verify) fn has(&self, meaning: Meaning) -> bool {
        self.words.iter().any(|word| means(word, meaning))
    }

    /// What the sentence says that the step did; `None` for denials, wishes, plans and conditions.
    pub(in crate::verify) fn act(&self) -> Option<Act> {
        if self.has(Meaning::Others) {
            return None;
        }
        // `The tests do not pass` says that they fail.
        let unreal = |word: &String| means(word, Meaning::Unreal) && !means(word, Meaning::Denial);
        if self.has(Meaning::Tests) && self.has(Meaning::Denial) && self.has(Meaning::Success) {
            return (!self.words.iter().any(unreal)).then_some(Act::Failed);
        }
        let act = acts().find(|act| match act {
            // `only`, `other` and `nothing` alone limit nothing: they need a change beside them.
            Act::Only => self.has(Meaning::Act(Act::Only)) && self.has(Meaning::Change),
            // `All other files are unchanged` is about the others.
            Act::Kept => {
                let limits = self.has(Meaning::Act(Act::Only)) || self.has(Meaning::Except);
                self.has(Meaning::Act(Act::Kept)) && !limits
            }
            act => self.has(Meaning::Act(*act)),
        });
        let nothing = self.words.first().is_some_and(|word| word == "nothing");
        let states = |act: &Act| *act == Act::Only || !self.has(Meaning::Unreal) && !nothing;
        act.filter(states)
    }

    /// Whether the sentence also says another act.
    pub(in crate::verify) fn says(&self, act: Act) -> bool {
        self.has(Meaning::Act(act))
    }

    /// The texts in backticks.
    pub(in crate::verify) fn code(&self) -> impl Iterator<Item = &str> {
        self.text.split('`').skip(1).step_by(2)
    }

    /// The names in backticks; of a part of a file, such as a section, also those in quotation marks.
    pub(in crate::verify) fn names(&self) -> Vec<&str> {
        let quoted = self.quoted.iter().map(String::as_str).filter(|_| self.has(Meaning::Part));
        self.code().filter(|text| !is_quoted_path(text)).chain(quoted).collect()
    }

    /// The names of code without backticks, by their form: `parse_config`, `parseConfig()`, `shop::Cart`, and beside a word
    /// such as `class` or `module` also `UserService` and `shop.cart`.
    pub(in crate::verify) fn plain_names(&self) -> Vec<&str> {
        let prose = self.text.split('`').step_by(2);
        let mut found = Vec::new();
        for text in prose {
            let splits = |c: char| c.is_whitespace() || ",;\"'[]{}<>=|".contains(c);
            let parts: Vec<&str> = text.split(splits).filter(|part| !part.is_empty()).collect();
            let is_kind = |at: usize| {
                let word = parts.get(at).map(|part| part.to_lowercase()).unwrap_or_default();
                means(&word, Meaning::Part) || means(&word, Meaning::Symbol)
            };
            for (at, part) in parts.iter().enumerate() {
                let ends = ['.', ':', '!', '?', '*', ')', '('];
                let name = part.trim_start_matches(['(', '*']).trim_end_matches(ends);
                let is_called = part.contains("()");
                let is_beside = || at > 0 && is_kind(at - 1) || is_kind(at + 1);
                let is_kind_of_name = || has_humps(name, false) || is_dotted(name);
                if is_name_of_code(name) || is_called || is_kind_of_name() && is_beside() {
                    found.push(name);
                }
            }
        }
        found
    }

    /// The words that are paths.
    pub(in crate::verify) fn paths(&self) -> Vec<&str> {
        paths(&self.text)
    }

    /// The words that are paths, without the lines that follow them: `src/a.rs:12` names `src/a.rs`.
    pub(in crate::verify) fn located_paths(&self) -> Vec<&str> {
        let placed = parts(&self.text).into_iter().filter_map(|part| {
            let (path, line) = part.trim_matches(['`', '(', ')', '*']).split_once(':')?;
            (line.starts_with(|c: char| c.is_ascii_digit()) && is_path(path)).then_some(path)
        });
        self.paths().into_iter().chain(placed).collect()
    }

    /// Whether nothing follows the last number but what it counts: `lines added 3`, and not `lines added 1 each`.
    pub(in crate::verify) fn ends_in_number(&self) -> bool {
        let is_unit = |word: &String| means(word, Meaning::Files) || means(word, Meaning::Lines);
        let last = self.words.iter().rev().find(|word| !is_unit(word));
        last.is_some_and(|word| number(word).is_some())
    }

    /// All numbers with their places among the words.
    pub(in crate::verify) fn numbers(&self) -> impl Iterator<Item = (usize, u64)> {
        let words = self.words.iter().enumerate();
        words.filter_map(|(at, word)| Some((at, number(word)?)))
    }

    /// The paths that the sentence says plainly that the step created, changed or deleted: `Created PATH and PATH`, `PATH was
    /// created`. Others can be about another time, another actor, or a mention of the path in a file.
    pub(in crate::verify) fn plain_paths(&self) -> Vec<&str> {
        const AFTER: [&str; 10] =
            ["with", "as", "for", "that", "which", "because", "using", "с", "для", "mit"];
        let is_verb = |word: &str| {
            let acts = [Act::Created, Act::Changed, Act::Deleted, Act::Renamed].map(Meaning::Act);
            acts.iter().any(|act| means(word, *act)) && !means(word, Meaning::Filler)
        };
        let moves = self.has(Meaning::Act(Act::Renamed));
        let plain = |word: &String| {
            let is_to = moves && ["to", "в", "на", "nach", "zu"].contains(&word.as_str());
            is_verb(word) || is_to || means(word, Meaning::Filler)
        };
        let parts = parts(&self.text);
        let is_part = |part: &&&str| {
            let has_path = !paths(part).is_empty();
            has_path && (part.starts_with('`') || words(part).is_empty())
                || !has_path && words(part).iter().all(plain)
        };
        let plain_parts = parts.iter().take_while(is_part).count();
        let (said, rest) = parts.split_at(plain_parts);
        let next = rest.first().and_then(|part| words(part).into_iter().next());
        // `Updated PATH to use it`, but not `Added PATH to the index`; and another act behind `and`.
        let adds = self.words.iter().any(|word| {
            is_verb(word) && ["add", "доб", "hin"].iter().any(|start| word.starts_with(start))
        });
        let last = said.last().map(|part| words(part)).unwrap_or_default();
        let joins =
            last.last().is_some_and(|word| ["and", "и", "und", "then"].contains(&word.as_str()));
        let ends = next.is_none_or(|word| {
            AFTER.contains(&word.as_str())
                || word == "to" && !adds
                || joins && means(&word, Meaning::Act(Act::Ran))
        });
        let has_verb = said.iter().any(|part| words(part).iter().any(|word| is_verb(word)));
        // `tools/gen.js wrote src/gen.js`: what stands before the verb did it.
        let passive = ["was", "were", "been", "has", "wurde", "wurden", "был", "была", "были"];
        let is_passive = self.words.iter().any(|word| passive.contains(&word.as_str()));
        let verb = parts.iter().position(|part| words(part).iter().any(|word| is_verb(word)));
        let (before, after) = parts.split_at(verb.unwrap_or(0));
        let has_path = |parts: &[&str]| parts.iter().any(|part| !paths(part).is_empty());
        let is_actor = !is_passive && has_path(before) && has_path(after);
        let is_now =
            self.words.iter().any(|word| ["is", "are", "ist", "sind"].contains(&word.as_str()));
        let other = is_now || self.has(Meaning::Otherwise) || self.has(Meaning::Unreal);
        match ends && has_verb && !other && !is_actor {
            true => said.iter().flat_map(|part| paths(part)).collect(),
            false => Vec::new(),
        }
    }
}

/// The sentences of a text, split at punctuation that ends a word, and before words such as `but`.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut in_code = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        in_code ^= c == '`';
        let ends = chars.peek().is_none_or(|next| next.is_whitespace());
        match c {
            '\n' => parts.push(String::new()),
            '.' | '!' | '?' | ';' if ends && !in_code => parts.push(String::new()),
            c => parts.last_mut().into_iter().for_each(|part| part.push(c)),
        }
    }
    let clauses = parts.iter().flat_map(|part| clauses(part));
    clauses.filter(|text| !text.is_empty()).collect()
}

/// The clauses of a sentence, split before words such as `but`.
fn clauses(sentence: &str) -> Vec<String> {
    let mut all = vec![Vec::new()];
    for word in sentence.split(' ') {
        let bare: String = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let after_comma = all
            .last()
            .and_then(|clause: &Vec<&str>| clause.last())
            .is_some_and(|w| w.ends_with(','));
        if after_comma && means(&bare, Meaning::Joint) {
            all.push(Vec::new());
        }
        all.last_mut().into_iter().for_each(|clause| clause.push(word));
    }
    all.iter().map(|clause| clause.join(" ").trim().to_owned()).collect()
}

/// The words of a text in small letters. Paths are no words.
pub(in crate::verify) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace('\u{2019}', "'").replace('ё', "е");
    let spaced = lower.replace("...", " ");
    let parts = spaced.split(|c: char| c.is_whitespace() || "`()[]{}|,".contains(c));
    let is_mark = |c: char| !c.is_alphanumeric() && !"✓✅✗❌".contains(c);
    let trimmed = parts.map(|part| without_marks(part.trim_end_matches(is_mark), is_mark));
    let is_word =
        |part: &&str| !part.is_empty() && (!part.contains(['/', '.']) || number(part).is_some());
    trimmed.filter(is_word).map(str::to_owned).collect()
}

fn mark(at: usize) -> String {
    format!("\"{at}\"")
}

/// A text without quoted lines and with a mark in place of each quotation, and the quotations that are names.
fn without_quotes(text: &str) -> (String, Vec<String>) {
    let mut own = String::with_capacity(text.len());
    let mut quoted: Vec<String> = Vec::new();
    let mut open: Option<(char, String)> = None;
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('>'));
    for c in lines.flat_map(|line| line.chars().chain(['\n'])) {
        open = match (open, c) {
            // A secret that is masked is a part of its word.
            (Some((end, name)), c) if c == end && name.starts_with("secret:") => {
                own += &format!("«{name}»");
                None
            }
            (Some((end, name)), c) if c == end => {
                if name.split_whitespace().count() <= NAME {
                    own += &mark(quoted.len());
                    quoted.push(name);
                }
                None
            }
            (Some((end, mut name)), c) => {
                name.push(c);
                Some((end, name))
            }
            (None, '"') => Some(('"', String::new())),
            (None, '«') => Some(('»', String::new())),
            (None, '“') => Some(('”', String::new())),
            (None, '„') => Some(('“', String::new())),
            (None, c) => {
                own.push(c);
                None
            }
        };
    }
    // A mark that is never closed quotes nothing.
    if let Some((_, rest)) = open {
        own += &rest;
    }
    (own, quoted)
}

/// Whether a word has the form of a name of code, and not of one of prose.
fn is_name_of_code(word: &str) -> bool {
    let joined = |mark: &str| {
        let mut parts = word.split(mark);
        word.contains(mark) && parts.all(|part| part.starts_with(|c: char| c.is_alphanumeric()))
    };
    joined("_") || joined("::") || has_humps(word, true)
}

/// Whether a text is names with dots between them, such as a module of Python.
fn is_dotted(text: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    text.contains('.') && text.split('.').all(is_name)
}

/// Whether a word is `likeThis`, or `LikeThis`: at least one capital behind a small letter and before another one.
fn has_humps(word: &str, begins_small: bool) -> bool {
    let chars: Vec<char> = word.chars().collect();
    let is_hump = |w: &[char]| w[0].is_lowercase() && w[1].is_uppercase() && w[2].is_lowercase();
    chars.iter().all(|c| c.is_ascii_alphanumeric())
        && chars.first().is_some_and(|c| c.is_lowercase() == begins_small)
        && chars.windows(3).any(is_hump)
}

/// The parts of a text between spaces and commas; a text in backticks is one.
fn parts(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let parts = text.split(|c: char| {
        in_code ^= c == '`';
        !in_code && [' ', ',', '\n'].contains(&c)
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// The words of a text that are paths. A path in backticks can have spaces.
pub(in crate::verify) fn paths(text: &str) -> Vec<&str> {
    let is_one = |part: &&str| {
        let (first, rest) = part.trim_matches('`').split_once(' ').unwrap_or((part, ""));
        part.starts_with('`') && (rest.is_empty() || first.contains('/') && !is_path(first))
    };
    let mut found = Vec::new();
    for part in parts(text) {
        let whole = part.trim_end_matches(['.', ':', '!', '?']).trim_matches('`');
        if is_one(&part) && is_path(whole) {
            found.push(whole);
            continue;
        }
        let words = part.split(|c: char| c.is_whitespace() || "`\"'(),;<>[]{}|".contains(c));
        let words = words.map(|word| word.trim_matches('*').trim_end_matches(['.', ':', '!', '?']));
        found.extend(words.filter(|word| is_path(word)));
    }
    found
}

/// Whether a text in backticks is a path. One with spaces is, if its first word is a part of a path and no program.
pub(in crate::verify) fn is_quoted_path(text: &str) -> bool {
    paths(&format!("`{text}`")) == [text]
}

/// Whether a word is a path: a name with an extension, or a folder with a `/` at its end.
pub(in crate::verify) fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let length = if word.contains('/') { 1..=5 } else { 1..=4 };
        !stem.is_empty()
            && length.contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && extension.starts_with(|c: char| c.is_ascii_lowercase())
    });
    let is_folder = word.len() > 1 && word.ends_with('/');
    !word.contains("://") && !["e.g", "i.e"].contains(&word) && (has_extension || is_folder)
}
