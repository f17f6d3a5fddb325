//! The type of values that contain no secret.

use super::Redactor;
use kb_base::value::{Failure, Json};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A value in which the secrets of its run are masked.
///
/// [`Redactor::mask`] and its variants create one from any value. The inputs of the state machine take
/// their texts in this type only, so what it composes of them is masked too. The journal stores, and
/// displays show, nothing else.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Masked<T>(T);

/// A value in which secrets can be masked.
pub trait Mask: Sized {
    /// Masks every text of the value. Call [`Redactor::mask`] instead, which skips this if there are
    /// no secrets.
    #[must_use]
    fn masked_by(self, redactor: &Redactor) -> Self;
}

impl<T> Masked<T> {
    pub(super) fn new(value: T) -> Masked<T> {
        Masked(value)
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// Converts the value. A function pointer captures nothing, so it cannot add unmasked text.
    pub fn map<U>(self, convert: fn(T) -> U) -> Masked<U> {
        Masked(convert(self.0))
    }

    /// Moves parts of the value to another place, such as large texts to blobs, or removes parts.
    /// `rearrange` must not add text. With [`Parts`] it passes parts on as masked values.
    pub fn rearrange<U, E>(
        self,
        rearrange: impl FnOnce(T, Parts) -> Result<U, E>,
    ) -> Result<Masked<U>, E> {
        rearrange(self.0, Parts(())).map(Masked)
    }

    /// A value that is composed of masked texts and texts of the definitions only, like an event, or
    /// that was masked before it was stored. `tests/it/architecture.rs` lists the callers.
    pub fn composed(value: T) -> Masked<T> {
        Masked(value)
    }
}

impl<T> Masked<Option<T>> {
    /// `None` if there is no value.
    pub fn transpose(self) -> Option<Masked<T>> {
        self.0.map(Masked)
    }
}

impl Masked<String> {
    /// Appends the text that follows in the same stream. A secret that spans both was masked by the
    /// stream that they come from.
    pub fn push(&mut self, next: &Masked<String>) {
        self.0.push_str(&next.0);
    }
}

/// The permission to pass on parts of a masked value, given by [`Masked::rearrange`].
#[derive(Clone, Copy)]
pub struct Parts(());

impl Parts {
    /// A part of the masked value.
    pub fn part<T>(self, part: T) -> Masked<T> {
        Masked(part)
    }
}

impl From<&'static str> for Masked<String> {
    /// A literal of the source code.
    fn from(literal: &'static str) -> Masked<String> {
        Masked(literal.to_owned())
    }
}

impl<T: Serialize> Serialize for Masked<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Redactor {
    /// Replaces all secrets in a value by their names.
    pub fn mask<T: Mask>(&self, value: T) -> Masked<T> {
        if self.has_secrets() { Masked::new(value.masked_by(self)) } else { Masked::new(value) }
    }

    /// Masks a text that was truncated, including the beginning of a secret at its end.
    pub fn mask_truncated(&self, text: &str) -> Masked<String> {
        Masked::new(self.mask_cut_text(text).into_owned())
    }

    /// A value that must be stored unchanged, such as the text of a definition; `Err` with the name of
    /// a secret if a text of it contains the value of one, as [`Redactor::written_in`] finds it.
    pub fn accept(&self, value: Json) -> Result<Masked<Json>, String> {
        match self.has_secrets().then(|| self.named_in(&value)).flatten() {
            Some(name) => Err(name),
            None => Ok(Masked::new(value)),
        }
    }

    fn named_in(&self, value: &Json) -> Option<String> {
        match value {
            Json::Null | Json::Bool(_) => None,
            Json::Number(number) => self.written_in(&number.to_string()),
            Json::String(text) => self.written_in(text),
            Json::Array(items) => items.iter().find_map(|item| self.named_in(item)),
            Json::Object(map) => map
                .iter()
                .find_map(|(key, value)| self.written_in(key).or_else(|| self.named_in(value))),
        }
    }

    /// The text, if it contains no secret; otherwise `Err` with the same text.
    pub fn check(&self, text: String) -> Result<Masked<String>, String> {
        match self.mask_text(&text) {
            Cow::Borrowed(_) => Ok(Masked::new(text)),
            Cow::Owned(_) => Err(text),
        }
    }
}

impl<T> Deref for Masked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Masked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for Masked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq<&str> for Masked<String> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl Mask for String {
    fn masked_by(self, redactor: &Redactor) -> String {
        match redactor.mask_text(&self) {
            Cow::Borrowed(_) => self,
            Cow::Owned(masked) => masked,
        }
    }
}

impl Mask for Json {
    fn masked_by(self, redactor: &Redactor) -> Json {
        redactor.mask_json(&self)
    }
}

impl Mask for Failure {
    fn masked_by(self, redactor: &Redactor) -> Failure {
        Failure {
            code: self.code,
            message: self.message.masked_by(redactor),
            help: self.help.masked_by(redactor),
            details: self.details.masked_by(redactor),
        }
    }
}

impl<T: Mask> Mask for Option<T> {
    fn masked_by(self, redactor: &Redactor) -> Option<T> {
        self.map(|value| value.masked_by(redactor))
    }
}

impl<T: Mask> Mask for Box<T> {
    fn masked_by(self, redactor: &Redactor) -> Box<T> {
        Box::new((*self).masked_by(redactor))
    }
}

impl<T: Mask> Mask for Vec<T> {
    fn masked_by(self, redactor: &Redactor) -> Vec<T> {
        self.into_iter().map(|value| value.masked_by(redactor)).collect()
    }
}
