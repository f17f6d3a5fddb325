//! Numbers of lines in a sentence, with what they count.

use super::{Meaning, Sentence};

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
    /// The numbers of lines, each with what its words say of them: `4 lines added`, `insertions: 4`, `added 4 lines`.
    pub(in crate::verify) fn line_numbers(&self, in_key: bool) -> Vec<(u64, LineChange)> {
        let own = self.numbers_of(Meaning::Lines, in_key);
        let places: Vec<(usize, u64)> = self.numbers().collect();
        let said = |index: usize, after: bool| {
            let (from, to) = if after {
                let next = places.get(index + 1).map_or(self.words.len(), |(at, _)| *at);
                (places[index].0 + 1, next)
            } else {
                (index.checked_sub(1).map_or(0, |before| places[before].0 + 1), places[index].0)
            };
            LineChange::of(&self.words[from..to])
        };
        let change = |index: usize| match said(index, !in_key) {
            LineChange::Any => said(index, false),
            own => own,
        };
        let numbers = places.iter().enumerate().filter(|(_, (_, number))| own.contains(number));
        numbers.map(|(index, (_, number))| (*number, change(index))).collect()
    }
}
