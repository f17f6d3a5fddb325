//! The type of values that contain no secret.

use super::Redactor;
use crate::value::{Failure, Json};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A value in which the secrets of its run are masked.
///
/// Only [`Redactor::mask`] and its variants create one. The inputs of the state machine, and so the
/// events of the journal, and the updates for displays take their texts in this type only.
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
    /// `rearrange` must not add text.
    pub(crate) fn rearrange<U, E>(
        self,
        rearrange: impl FnOnce(T) -> Result<U, E>,
    ) -> Result<Masked<U>, E> {
        rearrange(self.0).map(Masked)
    }
}

impl Redactor {
    /// Masks a value.
    pub fn mask<T: Mask>(&self, value: T) -> Masked<T> {
        match self.has_secrets() {
            true => Masked::new(value.masked_by(self)),
            false => Masked::new(value),
        }
    }

    /// Masks a text that was truncated, including the beginning of a secret at its end.
    pub fn mask_truncated(&self, text: &str) -> Masked<String> {
        Masked::new(self.mask_cut_text(text).into_owned())
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
