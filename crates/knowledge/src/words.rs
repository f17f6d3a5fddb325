//! Search terms: words in lower case by their stems, and the parts of identifiers.
//!
//! A text is indexed and asked for by the same [`terms`]. English and Russian words are stemmed. An identifier such as
//! `findUsages`, `find_usages` or `find-usages` gives its parts and, as one term, the whole without separators, so each
//! way to write it finds the others. A term has only letters and digits; FTS5 takes it as one token.

use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use unicode_normalization::UnicodeNormalization;

/// Maximum number of characters of a term. Longer runs of letters and digits are data, not words.
const MAX_CHARS: usize = 64;
/// Maximum number of terms of one FTS5 expression.
const MAX_MATCHED: usize = 64;

/// Words that say nothing about a text, as they are written. They are no terms.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "did", "do", "does", "for", "from", "had",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "of", "on", "or", "so", "such", "than", "that",
    "the", "their", "then", "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when",
    "where", "which", "who", "why", "will", "with", "would", "you",
    "а", "без", "бы", "в", "во", "вот", "где", "да", "для", "до", "его", "ее", "если", "же", "за", "и", "из", "или",
    "их", "к", "как", "какие", "какой", "ко", "когда", "которые", "который", "кто", "ли", "мы", "на", "над", "но", "о",
    "об", "он", "она", "они", "от", "по", "под", "при", "с", "со", "так", "то", "у", "чем", "что", "чтобы", "эта",
    "это", "этот", "я",
];

/// The stem of a word in lower case: English, or Russian if it has a Cyrillic letter.
pub fn stem(word: &str) -> String {
    let cyrillic = word.chars().any(|c| ('\u{400}'..='\u{4ff}').contains(&c));
    let algorithm = if cyrillic { Algorithm::Russian } else { Algorithm::English };
    let mut stem = Stemmer::create(algorithm).stem(word).into_owned();
    // The stem of `adding` is `ad`, that of `add` is `add`.
    let mut last = stem.chars().rev();
    if let (Some(a), Some(b)) = (last.next(), last.next())
        && a == b
    {
        stem.pop();
    }
    stem
}

/// The terms of a text in its order, with repetitions. Stop words and single letters of the Latin alphabet are left out.
pub fn terms(text: &str) -> Vec<String> {
    Terms::default().of(text)
}

/// Maximum number of words that are remembered.
const REMEMBERED: usize = 200_000;

/// Makes the terms of many texts: a word that was stemmed before is not stemmed again.
#[derive(Default)]
pub(crate) struct Terms {
    known: HashMap<String, Option<String>>,
}

impl Terms {
    /// [`terms`].
    pub(crate) fn of(&mut self, text: &str) -> Vec<String> {
        let normal: Cow<'_, str> =
            if text.is_ascii() { text.into() } else { text.nfc().collect::<String>().into() };
        let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let mut found = Vec::new();
        for run in normal.split(|c| !is_inside(c)).filter(|run| !run.is_empty()) {
            let parts: Vec<&str> = run.split(['_', '-']).flat_map(humps).collect();
            found.extend(parts.iter().filter_map(|part| self.word(part)));
            if parts.len() > 1 {
                let whole = parts.concat().to_lowercase();
                found.extend((whole.chars().count() <= MAX_CHARS).then_some(whole));
            }
        }
        found
    }

    /// [`term_text`].
    pub(crate) fn text(&mut self, text: &str) -> String {
        self.of(text).join(" ")
    }

    fn word(&mut self, written: &str) -> Option<String> {
        if let Some(known) = self.known.get(written) {
            return known.clone();
        }
        let term = word(written);
        if self.known.len() < REMEMBERED {
            self.known.insert(written.to_owned(), term.clone());
        }
        term
    }
}

/// The text that a column of an FTS5 table holds: the terms, separated by spaces.
pub fn term_text(text: &str) -> String {
    terms(text).join(" ")
}

/// The expression for `MATCH` that finds each row with one of the terms of these texts, at most 64. `None` if they have
/// no terms. Whatever the texts contain, the expression is valid and has no operator but `OR`.
pub fn match_any<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let all = texts.into_iter().flat_map(terms);
    let distinct = all.filter(|term| seen.insert(term.clone())).take(MAX_MATCHED);
    let quoted: Vec<String> = distinct.map(|term| format!("\"{term}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

/// The term of a word; `None` for a stop word, a single letter and data.
fn word(written: &str) -> Option<String> {
    let lower = written.to_lowercase().replace('ё', "е");
    let is_letter = lower.len() == 1 && lower.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_data = lower.chars().count() > MAX_CHARS;
    (!is_letter && !is_data && !STOP_WORDS.contains(&lower.as_str())).then(|| stem(&lower))
}

/// The parts of a name in camel case: `parseHTTPHeader2` is `parse`, `HTTP`, `Header2`.
fn humps(name: &str) -> Vec<&str> {
    if name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return if name.is_empty() { Vec::new() } else { vec![name] };
    }
    let chars: Vec<(usize, char)> = name.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..chars.len() {
        let (before, (byte, now)) = (chars[at - 1].1, chars[at]);
        let next_is_lower = chars.get(at + 1).is_some_and(|(_, next)| next.is_lowercase());
        let begins = now.is_uppercase() && (!before.is_uppercase() || next_is_lower);
        if begins {
            parts.push(&name[start..byte]);
            start = byte;
        }
    }
    parts.push(&name[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn words_are_terms_by_their_stems() {
        assert_eq!(term_text("Running the runs, he ran!"), "run run he ran");
        assert_eq!(terms("Повторяет попытки"), terms("повторять попытка"));
        assert_eq!(terms("ещё ЁЛКИ"), terms("еще елка"));
        // A letter and its sign apart, as some systems store names.
        assert_eq!(terms("и\u{306}од"), terms("йод"));
        assert_eq!(term_text("Straße 8080 x"), "straße 8080");
        assert_eq!(term_text("the of и в"), "");
    }

    #[test]
    fn an_identifier_is_found_by_its_parts_and_however_it_is_written() {
        assert_eq!(term_text("findUsages"), "find usag findusages");
        for written in ["find_usages", "find-usages", "FindUsages", "FIND_USAGES"] {
            assert_eq!(terms(written), terms("findUsages"), "{written}");
        }
        assert_eq!(term_text("parseHTTPHeader2"), "pars http header2 parsehttpheader2");
        assert_eq!(term_text("__init__ -x- --"), "init");
        assert_eq!(term_text(&"a1".repeat(40)), "");
    }

    /// What a table of the terms finds for a question; an invalid expression would fail.
    fn finds(text: &str, asked: &str) -> bool {
        let table = Connection::open_in_memory().unwrap();
        table.execute_batch("CREATE VIRTUAL TABLE t USING fts5 (x)").unwrap();
        table.execute("INSERT INTO t VALUES (?1)", [term_text(text)]).unwrap();
        let Some(expression) = match_any([asked]) else { return false };
        let count = "SELECT count(*) FROM t WHERE t MATCH ?1";
        table.query_row(count, [expression], |row| row.get::<_, i64>(0)).unwrap() == 1
    }

    #[test]
    fn a_question_finds_what_has_one_of_its_terms() {
        assert!(finds("fn open_database(path: &Path)", "how are databases opened?"));
        assert!(finds("Проверка выполняется после шага", "когда выполнялись проверки"));
        assert!(!finds("fn open_database(path: &Path)", "close the journal"));
    }

    #[test]
    fn hostile_questions_are_texts() {
        for asked in [
            "\"",
            "a\" OR x:b",
            "NEAR(",
            "x*",
            "^x",
            "- NOT AND OR",
            "{x}:",
            "\0",
            "'; --",
            "\u{301}",
        ] {
            assert!(!finds("something else", asked), "{asked:?}");
        }
        assert!(finds("NOT here", "not"));
        let many: String = (0..10_000).map(|at| format!("word{at} ")).collect();
        assert_eq!(match_any([many.as_str()]).unwrap().split(" OR ").count(), MAX_MATCHED);
        assert!(finds("word5", &many));
    }
}
