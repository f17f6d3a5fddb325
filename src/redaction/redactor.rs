use super::masks::Masks;
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

/// Masks the values of secrets; shared by all who store or show something.
#[derive(Default)]
pub struct Redactor {
    masks: RwLock<Arc<Masks>>,
    /// Whether there is anything to mask; most runs have no secrets and pay for one load.
    armed: AtomicBool,
}

impl Redactor {
    /// One that knows no secret yet.
    pub fn new() -> Self {
        Self::default()
    }

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
        let mut masks = self.masks.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(more) = masks.with(name, value) {
            *masks = Arc::new(more);
            self.armed.store(true, Ordering::Release);
        }
        true
    }

    /// Masks a text.
    pub fn mask_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.masks() {
            Some(masks) => masks.mask(text),
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
        Json::Array(items) => items.iter().map(|item| mask_value(masks, item)).collect(),
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

impl fmt::Debug for Redactor {
    /// Never the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("armed", &self.armed).finish_non_exhaustive()
    }
}
