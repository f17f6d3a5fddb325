use super::spellings::spellings;
use regex::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Spellings of secrets and what finds them.
#[derive(Default)]
pub(super) struct Masks {
    /// The secret's name by spelling; sorted, so that spellings with a common beginning are near.
    names: BTreeMap<String, String>,
    /// Finds the longest spelling at each place.
    finder: Option<Regex>,
    longest: usize,
}

impl Masks {
    /// These and one more; `None` where all its spellings are known.
    pub(super) fn with(&self, name: &str, value: &str) -> Option<Masks> {
        let mut names = self.names.clone();
        for spelling in spellings(value) {
            names.entry(spelling).or_insert_with(|| name.to_owned());
        }
        if names.len() == self.names.len() {
            return None;
        }
        let mut by_length: Vec<&str> = names.keys().map(String::as_str).collect();
        by_length.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
        let longest = by_length.first().map_or(0, |spelling| spelling.len());
        let pattern: Vec<String> = by_length.into_iter().map(regex::escape).collect();
        // An alternation of literals is an Aho-Corasick automaton inside; its size is that of the
        // spellings, and no bound of ours may leave a secret unmasked.
        let finder = RegexBuilder::new(&pattern.join("|")).size_limit(usize::MAX).build().ok();
        Some(Masks { names, finder, longest })
    }

    /// The secret that has this text as a spelling.
    pub(super) fn name_of(&self, text: &str) -> Option<&str> {
        self.names.get(text).map(String::as_str)
    }

    pub(super) fn replacement(name: &str) -> String {
        format!("«secret:{name}»")
    }

    pub(super) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(finder) = &self.finder else { return Cow::Borrowed(text) };
        finder.replace_all(text, |found: &regex::Captures<'_>| {
            Self::replacement(self.name_of(&found[0]).unwrap_or_default())
        })
    }

    /// The first spelling in a text: where it begins and ends, and what replaces it.
    pub(super) fn first(&self, text: &str) -> Option<(usize, usize, String)> {
        let found = self.finder.as_ref()?.find(text)?;
        let name = self.name_of(found.as_str()).unwrap_or_default();
        Some((found.start(), found.end(), Self::replacement(name)))
    }

    /// Where a spelling may have begun that the text does not hold whole; the text's length where
    /// none has.
    pub(super) fn open_from(&self, text: &str) -> usize {
        let first = text.len().saturating_sub(self.longest.saturating_sub(1));
        (first..text.len())
            .filter(|start| text.is_char_boundary(*start))
            .find(|start| self.has_longer(&text[*start..]))
            .unwrap_or(text.len())
    }

    fn has_longer(&self, beginning: &str) -> bool {
        use std::ops::Bound::{Excluded, Unbounded};
        let mut after = self.names.range::<str, _>((Excluded(beginning), Unbounded));
        after.next().is_some_and(|(spelling, _)| spelling.starts_with(beginning))
    }
}
