//! The encodings of all secrets of a redactor.

use super::encodings::encodings;
use super::escapes::ESCAPES;
use super::index::Index;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// The start of a mask, which replaces a secret.
pub const MASK: &str = "«secret:";

/// The encodings of secrets and their index.
#[derive(Default)]
pub(super) struct Masks {
    /// The values of the secrets.
    values: BTreeSet<String>,
    /// The name of the secret by encoding.
    names: BTreeMap<String, String>,
    /// Built on first use, so that adding many secrets builds it once.
    index: OnceLock<Index>,
}

/// A part of a text to mask, and the name of its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) name: &'a str,
}

impl Clone for Masks {
    /// Without the index: a copy is made to add secrets.
    fn clone(&self) -> Self {
        let (values, names) = (self.values.clone(), self.names.clone());
        Masks { values, names, index: OnceLock::new() }
    }
}

impl Masks {
    /// Whether this value was added.
    pub(super) fn knows(&self, value: &str) -> bool {
        self.values.contains(value)
    }

    /// The name of a secret of at least `shortest` characters whose value a text contains literally.
    pub(super) fn written_in(&self, text: &str, shortest: usize) -> Option<&str> {
        let long = self.values.iter().map(|value| value.trim());
        let mut long = long.filter(|value| value.chars().count() >= shortest);
        self.name_of(long.find(|value| text.contains(value))?)
    }

    /// Adds a secret. An encoding that several secrets share has the name of the first.
    pub(super) fn learn(&mut self, name: &str, value: &str) {
        for encoding in encodings(value) {
            self.names.entry(encoding).or_insert_with(|| name.to_owned());
        }
        self.values.insert(value.to_owned());
        self.index = OnceLock::new();
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(self.names.keys().map(String::as_str), ESCAPES.iter()))
    }

    /// The name of the secret that has this encoding.
    pub(super) fn name_of(&self, text: &str) -> Option<&str> {
        self.names.get(text).map(String::as_str)
    }

    pub(super) fn replacement(name: &str) -> String {
        format!("{MASK}{name}»")
    }

    /// The parts to mask, in order.
    pub(super) fn found_in(&self, text: &str) -> Vec<Match<'_>> {
        self.search(text, true).0
    }

    /// The parts to mask in a text that may continue, and the position up to which the result is
    /// final: the start of a possible incomplete match, or the length of the text.
    pub(super) fn found_before_open(&self, text: &str) -> (Vec<Match<'_>>, usize) {
        self.search(text, false)
    }

    /// Overlapping matches are merged: masking one of them alone would leave a part of the other.
    fn search(&self, text: &str, ends: bool) -> (Vec<Match<'_>>, usize) {
        let mut found: Vec<Match<'_>> = Vec::new();
        let (mut open, mut longest) = (text.len(), 0);
        self.index().each(text.as_bytes(), ends, |start, started| {
            if started.open && !ends {
                open = start;
                return ControlFlow::Break(());
            }
            let Some((end, encoding)) = started.whole else { return ControlFlow::Continue(()) };
            let name = || self.name_of(encoding).unwrap_or_default();
            match found.last_mut().filter(|last| start < last.end) {
                Some(last) => {
                    if end - start > longest {
                        last.name = name();
                        longest = end - start;
                    }
                    last.end = last.end.max(end);
                }
                None => {
                    longest = end - start;
                    found.push(Match { start, end, name: name() });
                }
            }
            ControlFlow::Continue(())
        });
        // A match that ends after that position may become longer.
        if let Some(crossing) = found.pop_if(|last| last.end > open) {
            open = crossing.start;
        }
        (found, open)
    }

    pub(super) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        masked(text, &self.found_in(text))
    }

    /// Masks a text that was truncated, perhaps within an encoding.
    pub(super) fn mask_cut<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let (found, open) = self.found_before_open(text);
        match text.len() - open {
            0..4 => self.mask(text),
            _ => Cow::Owned(masked(&text[..open], &found).into_owned() + MASK + "…»"),
        }
    }
}

/// The text with each match replaced by a mask.
pub(super) fn masked<'a>(text: &'a str, found: &[Match<'_>]) -> Cow<'a, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for found in found {
        masked.push_str(&text[from..found.start]);
        masked.push_str(&Masks::replacement(found.name));
        from = found.end;
    }
    Cow::Owned(masked + &text[from..])
}
