use super::index::Index;
use super::spellings::spellings;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Spellings of secrets and what finds them.
#[derive(Default)]
pub(super) struct Masks {
    /// What was learnt.
    values: BTreeSet<String>,
    /// The secret's name by spelling.
    names: BTreeMap<String, String>,
    /// Made when it is first needed, so that learning many secrets makes one.
    index: OnceLock<Index>,
}

/// A part of a text that is to be masked, and the secret that is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) name: &'a str,
}

impl Clone for Masks {
    /// Without what finds them: a copy is made to learn more.
    fn clone(&self) -> Self {
        let (values, names) = (self.values.clone(), self.names.clone());
        Masks { values, names, index: OnceLock::new() }
    }
}

impl Masks {
    /// Whether this value was learnt.
    pub(super) fn knows(&self, value: &str) -> bool {
        self.values.contains(value)
    }

    /// The secret whose value stands in a text as it is, where it has so many characters.
    pub(super) fn written_in(&self, text: &str, shortest: usize) -> Option<&str> {
        let long = self.values.iter().map(|value| value.trim());
        let mut long = long.filter(|value| value.chars().count() >= shortest);
        self.name_of(long.find(|value| text.contains(value))?)
    }

    /// Learns one more. A spelling that several secrets have goes by the name of the first.
    pub(super) fn learn(&mut self, name: &str, value: &str) {
        for spelling in spellings(value) {
            self.names.entry(spelling).or_insert_with(|| name.to_owned());
        }
        self.values.insert(value.to_owned());
        self.index = OnceLock::new();
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(self.names.keys().map(String::as_str)))
    }

    /// The secret that has this text as a spelling.
    pub(super) fn name_of(&self, text: &str) -> Option<&str> {
        self.names.get(text).map(String::as_str)
    }

    pub(super) fn replacement(name: &str) -> String {
        format!("«secret:{name}»")
    }

    /// Everything that is to be masked, in order. Spellings that overlap are one: where the end of
    /// one is the beginning of another, masking the first alone would leave a part of the second.
    pub(super) fn found_in(&self, text: &str) -> Vec<Found<'_>> {
        let mut found: Vec<Found<'_>> = Vec::new();
        let mut longest = 0;
        self.index().each(text.as_bytes(), |start, end, spelling| {
            let name = || self.name_of(spelling).unwrap_or_default();
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
                    found.push(Found { start, end, name: name() });
                }
            }
        });
        found
    }

    pub(super) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.found_in(text);
        match found.is_empty() {
            true => Cow::Borrowed(text),
            false => Cow::Owned(masked(text, &found)),
        }
    }

    /// The same for a text that was cut off, perhaps in the middle of a spelling.
    pub(super) fn mask_cut<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let open = self.open_from(text);
        match text.len() - open {
            0..4 => self.mask(text),
            _ => Cow::Owned(self.mask(&text[..open]).into_owned() + "«secret:…»"),
        }
    }

    /// Where a spelling may have begun that the text does not hold whole; the text's length where
    /// none has. Nothing that is found crosses that place.
    pub(super) fn open_from(&self, text: &str) -> usize {
        let open = self.index().open_from(text.as_bytes());
        let found = self.found_in(text);
        let crossing = found.iter().find(|found| found.start < open && open < found.end);
        crossing.map_or(open, |found| found.start)
    }
}

/// The text with a mask in the place of everything found.
pub(super) fn masked(text: &str, found: &[Found<'_>]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for found in found {
        masked.push_str(&text[from..found.start]);
        masked.push_str(&Masks::replacement(found.name));
        from = found.end;
    }
    masked + &text[from..]
}
