//! Masks the secrets of one run.

use super::masks::{Masks, Match, masked};
use kb_base::value::{Json, JsonMap};
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The minimum length of a secret in characters. A shorter value can be found by trying: of a list of
/// all values, the one that is masked is the secret.
pub const SHORTEST: usize = 8;
/// The minimum length of a value that is masked at all. Masking every `1` or `no` would make texts
/// unreadable.
const SHORTEST_MASKED: usize = 4;

/// The literals of JSON, which are not masked.
const LITERALS: [&str; 3] = ["true", "false", "null"];

/// Masks the secrets of one run. A new redactor knows none.
#[derive(Default)]
pub struct Redactor {
    masks: RwLock<Arc<Masks>>,
    /// Whether there are secrets. Most runs have none, and masking then costs one atomic load.
    has_secrets: AtomicBool,
}

impl Redactor {
    /// Whether masking keeps a value secret.
    pub fn can_keep(value: &str) -> bool {
        value.trim().chars().count() >= SHORTEST
    }

    /// Adds a secret. Call it before the value is used. Returns false if the value cannot be masked: it
    /// has fewer than four characters or is a literal of JSON.
    pub fn add(&self, name: &str, value: &str) -> bool {
        let trimmed = value.trim();
        if trimmed.chars().count() < SHORTEST_MASKED || LITERALS.contains(&trimmed) {
            return false;
        }
        if self.masks().is_some_and(|masks| masks.knows(value)) {
            return true;
        }
        let mut masks = self.masks.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut masks).learn(name, value);
        self.has_secrets.store(true, Ordering::Release);
        true
    }

    /// Whether there are secrets.
    pub(super) fn has_secrets(&self) -> bool {
        self.has_secrets.load(Ordering::Acquire)
    }

    /// Masks a text that is processed further, such as compared or truncated.
    pub fn mask_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.masks() {
            Some(masks) => masks.mask(text),
            None => Cow::Borrowed(text),
        }
    }

    /// The name of a secret that masking would replace in a text, as it is or in another form. Forms of fewer than twelve
    /// characters may be ordinary words and do not count.
    pub fn written_in(&self, text: &str) -> Option<String> {
        const SHORTEST_WRITTEN: usize = 12;
        self.masks()?.written_in(text, SHORTEST_WRITTEN).map(str::to_owned)
    }

    /// [`Redactor::mask_truncated`] for a text that is processed further.
    pub fn mask_cut_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.masks() {
            Some(masks) => masks.mask_cut(text),
            None => Cow::Borrowed(text),
        }
    }

    /// Masks every text of a value that is processed further: strings, keys of objects, and numbers
    /// that are a secret.
    pub fn mask_json(&self, value: &Json) -> Json {
        match self.masks() {
            Some(masks) => mask_value(&masks, value),
            None => value.clone(),
        }
    }

    pub(super) fn masks(&self) -> Option<Arc<Masks>> {
        self.has_secrets()
            .then(|| self.masks.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn mask_value(masks: &Masks, value: &Json) -> Json {
    match value {
        Json::Null | Json::Bool(_) => value.clone(),
        // A sign, further digits or a fraction around the value do not hide it.
        Json::Number(number) => match masks.mask(&number.to_string()) {
            Cow::Owned(masked) => Json::String(masked),
            Cow::Borrowed(_) => value.clone(),
        },
        Json::String(text) => Json::String(masks.mask(text).into_owned()),
        Json::Array(items) => match lines(items) {
            Some(lines) => mask_lines(masks, &lines).into_iter().map(Json::from).collect(),
            None => items.iter().map(|item| mask_value(masks, item)).collect(),
        },
        Json::Object(map) => {
            let mut masked = JsonMap::new();
            for (key, value) in map {
                let mut key = masks.mask(key).into_owned();
                while masked.contains_key(&key) {
                    key.push('′'); // two keys that differ only in a masked part
                }
                masked.insert(key, mask_value(masks, value));
            }
            Json::Object(masked)
        }
    }
}

/// The texts of a list with at least two items, all of them texts.
fn lines(items: &[Json]) -> Option<Vec<&str>> {
    let texts: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
    texts.filter(|texts| texts.len() > 1)
}

/// Masks the lines of a text. A secret may extend over several lines.
fn mask_lines(masks: &Masks, lines: &[&str]) -> Vec<String> {
    let found = masks.found_in(&lines.join("\n"));
    let mut from = 0;
    let line = |line: &&str| {
        let (start, end) = (from, from + line.len());
        from = end + 1;
        let here = found.iter().filter(|found| found.start < end && found.end > start);
        let here = here.map(|found| Match {
            start: found.start.max(start) - start,
            end: found.end.min(end) - start,
            name: found.name,
        });
        masked(line, &here.collect::<Vec<_>>()).into_owned()
    };
    lines.iter().map(line).collect()
}

impl fmt::Debug for Redactor {
    /// Never the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("has_secrets", &self.has_secrets).finish_non_exhaustive()
    }
}
