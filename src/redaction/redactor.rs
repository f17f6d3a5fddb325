use super::masks::{Masks, Match, masked};
use super::stream::StreamMasker;
use crate::value::{Json, JsonMap};
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Values shorter than this many characters are not masked. There are too few of them: masking
/// every `1` or `no` would spoil all texts, and the places of the masks would tell the value.
pub const SHORTEST: usize = 4;

/// Words that stand in every JSON, as values that are no texts.
const WORDS: [&str; 3] = ["true", "false", "null"];

/// Masks the values of secrets; shared by all who store or show something. A new one knows none.
#[derive(Default)]
pub struct Redactor {
    masks: RwLock<Arc<Masks>>,
    /// Whether there is anything to mask; most runs have no secrets and pay for one load.
    armed: AtomicBool,
}

impl Redactor {
    /// Whether a value can be masked: it is neither too short nor a word of JSON.
    pub fn can_mask(value: &str) -> bool {
        let value = value.trim();
        value.chars().count() >= SHORTEST && !WORDS.contains(&value)
    }

    /// Learns a value, before anybody can use it. Returns false for one that cannot be masked.
    /// Learning it again is nothing.
    pub fn add(&self, name: &str, value: &str) -> bool {
        if !Redactor::can_mask(value) {
            return false;
        }
        if self.masks().is_some_and(|masks| masks.knows(value)) {
            return true;
        }
        let mut masks = self.masks.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut masks).learn(name, value);
        self.armed.store(true, Ordering::Release);
        true
    }

    /// Masks a text.
    pub fn mask_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.masks() {
            Some(masks) => masks.mask(text),
            None => Cow::Borrowed(text),
        }
    }

    /// The secret whose value stands in a text as it is. Values of fewer than twelve characters may
    /// be ordinary words and are not looked for.
    pub fn written_in(&self, text: &str) -> Option<String> {
        const SHORTEST_WRITTEN: usize = 12;
        self.masks()?.written_in(text, SHORTEST_WRITTEN).map(str::to_owned)
    }

    /// Masks a text that was cut off somewhere, also the beginning of a secret at its end.
    pub fn mask_cut_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.masks() {
            Some(masks) => masks.mask_cut(text),
            None => Cow::Borrowed(text),
        }
    }

    /// Masks every text of a value, the keys of its objects too, and numbers that are a secret.
    pub fn mask_json(&self, value: &Json) -> Json {
        match self.masks() {
            Some(masks) => mask_value(&masks, value),
            None => value.clone(),
        }
    }

    /// The same for a value that is not needed unmasked; where nothing is secret, the value itself.
    pub fn masked(&self, value: Json) -> Json {
        match self.masks() {
            Some(masks) => mask_value(&masks, &value),
            None => value,
        }
    }

    /// Masks a text that comes in pieces, such as a model's answer.
    pub fn stream(self: &Arc<Self>) -> StreamMasker {
        StreamMasker::new(self.clone())
    }

    pub(super) fn masks(&self) -> Option<Arc<Masks>> {
        let armed = self.armed.load(Ordering::Acquire);
        armed.then(|| self.masks.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn mask_value(masks: &Masks, value: &Json) -> Json {
    match value {
        Json::Null | Json::Bool(_) => value.clone(),
        Json::Number(number) => match masks.name_of(&number.to_string()) {
            Some(name) => Json::String(Masks::replacement(name)),
            None => value.clone(),
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
                    key.push('′'); // two keys that differed only in what is masked
                }
                masked.insert(key, mask_value(masks, value));
            }
            Json::Object(masked)
        }
    }
}

/// The texts of a list of two and more.
fn lines(items: &[Json]) -> Option<Vec<&str>> {
    let texts: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
    texts.filter(|texts| texts.len() > 1)
}

/// Masks the lines of a text, over which a secret may be folded.
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
        f.debug_struct("Redactor").field("armed", &self.armed).finish_non_exhaustive()
    }
}
