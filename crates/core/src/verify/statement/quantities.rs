//! Numbers of files and lines in a sentence, with what they count.

use super::{Meaning, Sentence, means};

/// Words of keys for places in a file.
const PLACES: [&str; 8] = ["start", "end", "from", "to", "first", "last", "begin", "line"];

/// Which lines a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verify) enum LineChange {
    Added,
    Removed,
    /// The words do not say it, or say both.
    Any,
}

impl LineChange {
    fn of(words: &[String]) -> LineChange {
        let has = |starts: &[&str]| {
            words.iter().any(|word| starts.iter().any(|start| word.starts_with(start)))
        };
        let added = has(&["insert", "add", "добав", "вставл", "hinzu", "eingef"]);
        let removed = has(&["delet", "remov", "удал", "gelösch", "entfern"]);
        match () {
            () if added && !removed => LineChange::Added,
            () if removed && !added => LineChange::Removed,
            () => LineChange::Any,
        }
    }
}

impl Sentence {
    /// The numbers of a unit: `3 new files` in a text, `files changed 3` in a key.
    pub(in crate::verify) fn numbers_of(&self, unit: Meaning, in_key: bool) -> Vec<u64> {
        self.places_of(unit, in_key).map(|(_, number)| number).collect()
    }

    /// The same with their places among the words.
    fn places_of(&self, unit: Meaning, in_key: bool) -> impl Iterator<Item = (usize, u64)> {
        let is_unit =
            move |word: &&String| means(word, Meaning::Files) || means(word, Meaning::Lines);
        // `lines: {start: 3, end: 9}` says where, and not how many.
        let is_place = move |at: usize| {
            let place = |word: &String| PLACES.contains(&word.as_str());
            in_key && self.words[..at].last().is_some_and(place)
        };
        let near = move |at: usize| {
            if is_place(at) {
                return false;
            }
            let before = self.words[..at].iter().rev().take(2).find(is_unit);
            let after = self.words.iter().skip(at + 1).take(2).find(is_unit);
            let nearest = if in_key { before } else { after };
            nearest.is_some_and(|word| means(word, unit))
        };
        self.numbers().filter(move |(at, _)| near(*at))
    }

    /// The numbers of lines, each with what its words say of them: `4 lines added`, `insertions: 4`, `added 4 lines`.
    pub(in crate::verify) fn line_numbers(&self, in_key: bool) -> Vec<(u64, LineChange)> {
        let places: Vec<usize> = self.numbers().map(|(at, _)| at).collect();
        let said = |at: usize, after: bool| {
            let number = |place: &&usize| if after { **place > at } else { **place < at };
            let (from, to) = if after {
                (at + 1, places.iter().find(number).copied().unwrap_or(self.words.len()))
            } else {
                (places.iter().rfind(number).map_or(0, |before| before + 1), at)
            };
            LineChange::of(&self.words[from..to])
        };
        let change = |at: usize| match said(at, !in_key) {
            LineChange::Any => said(at, false),
            own => own,
        };
        let own = self.places_of(Meaning::Lines, in_key);
        own.map(|(at, number)| (number, change(at))).collect()
    }
}
