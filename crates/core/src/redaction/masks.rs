//! The encodings of all secrets of a redactor.

use super::encodings::{encodings, long_encodings};
use super::escapes::ESCAPES;
use super::excerpts::Excerpts;
use super::index::Index;
use anstream::adapter::strip_str;
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
    /// The encodings of which excerpts are masked, with the name of the secret.
    long: Vec<(String, String)>,
    /// Built on first use, so that adding many secrets builds it once.
    index: OnceLock<(Index, Excerpts)>,
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
        let Masks { values, names, long, .. } = self;
        let (values, names, long) = (values.clone(), names.clone(), long.clone());
        Masks { values, names, long, index: OnceLock::new() }
    }
}

impl Masks {
    /// Whether this value was added.
    pub(super) fn knows(&self, value: &str) -> bool {
        self.values.contains(value)
    }

    /// The name of a secret of which masking would replace at least `shortest` characters of a text.
    pub(super) fn written_in(&self, text: &str, shortest: usize) -> Option<&str> {
        let mut found = self.found_in(text).into_iter();
        let is_long = |own: &Match<'_>| text[own.start..own.end].chars().count() >= shortest;
        found.find(is_long).map(|own| own.name)
    }

    /// Adds a secret. An encoding that several secrets share has the name of the first.
    pub(super) fn learn(&mut self, name: &str, value: &str) {
        for encoding in encodings(value) {
            self.names.entry(encoding).or_insert_with(|| name.to_owned());
        }
        let long = long_encodings(value).into_iter();
        self.long.extend(long.map(|encoding| (encoding, name.to_owned())));
        self.values.insert(value.to_owned());
        self.index = OnceLock::new();
    }

    fn index(&self) -> &(Index, Excerpts) {
        self.index.get_or_init(|| {
            let index = Index::of(self.names.keys().map(String::as_str), ESCAPES.iter());
            (index, Excerpts::of(self.long.iter().map(|(encoding, _)| encoding.as_str())))
        })
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
        self.found_before(text, text.len(), self.whole(text, true).0).0
    }

    /// The parts to mask in a text that may continue, and the position up to which the result is
    /// final: the start of a possible incomplete match, or the length of the text.
    pub(super) fn found_before_open(&self, text: &str) -> (Vec<Match<'_>>, usize) {
        let (found, open) = self.whole(text, false);
        let open = open.min(text.len() - self.index().1.open_end(text.as_bytes()));
        self.found_before(text, open, found)
    }

    /// The encodings that a text contains as a whole, and the start of one that may be incomplete if
    /// the text does not end here.
    fn whole(&self, text: &str, ends: bool) -> (Vec<Match<'_>>, usize) {
        let (mut found, mut open) = (Vec::new(), text.len());
        self.index().0.each(text.as_bytes(), ends, |start, started| {
            if started.open && !ends {
                open = start;
                return ControlFlow::Break(());
            }
            if let Some((end, encoding)) = started.whole {
                found.push(Match { start, end, name: self.name_of(encoding).unwrap_or_default() });
            }
            ControlFlow::Continue(())
        });
        (found, open)
    }

    /// Adds excerpts to matches and merges what overlaps: masking one of two matches alone would leave
    /// a part of the other. Matches that end after `open` may become longer, so they are left out, and
    /// the start of the first is returned.
    fn found_before<'a>(
        &'a self,
        text: &str,
        mut open: usize,
        mut all: Vec<Match<'a>>,
    ) -> (Vec<Match<'a>>, usize) {
        all.extend(self.index().1.found_in(text.as_bytes()).into_iter().map(|excerpt| Match {
            start: excerpt.range.start,
            end: excerpt.range.end,
            name: &self.long[excerpt.encoding].1,
        }));
        all.sort_by_key(|found| found.start);
        let (mut merged, mut longest): (Vec<Match<'_>>, usize) = (Vec::new(), 0);
        for found in all.into_iter().filter(|found| found.start < open) {
            let length = found.end - found.start;
            match merged.last_mut().filter(|last| found.start < last.end) {
                Some(last) => {
                    if length > longest {
                        (last.name, longest) = (found.name, length);
                    }
                    last.end = last.end.max(found.end);
                }
                None => {
                    longest = length;
                    merged.push(found);
                }
            }
        }
        if let Some(crossing) = merged.pop_if(|last| last.end > open) {
            open = crossing.start;
        }
        (merged, open)
    }

    pub(super) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let styled = masked(text, &self.found_in(text));
        match self.divided(&styled) {
            Some(plain) => Cow::Owned(plain),
            None => styled,
        }
    }

    /// The text without colours and control characters, such as the zeros of UTF-16, masked, if they divide a value in it: a
    /// program that removes them would show the value.
    fn divided(&self, text: &str) -> Option<String> {
        let is_removed = |c: char| c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t');
        let plain = text.contains(is_removed).then(|| strip_str(text).to_string())?;
        let found = self.found_in(&plain);
        (!found.is_empty()).then(|| masked(&plain, &found).into_owned())
    }

    /// Masks a text that was truncated, perhaps within an encoding.
    pub(super) fn mask_cut<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let (found, open) = self.whole(text, false);
        let (found, open) = self.found_before(text, open, found);
        match text.len() - open {
            0..4 => self.mask(text),
            _ => {
                let styled = masked(&text[..open], &found).into_owned();
                Cow::Owned(self.divided(&styled).unwrap_or(styled) + MASK + "…»")
            }
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
