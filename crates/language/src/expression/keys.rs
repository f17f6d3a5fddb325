//! Keys of paths such as `build.output.files[0]`.

use smol_str::SmolStr;
use std::ops::Range;

/// A key with its position in the text.
#[derive(Debug, Clone)]
pub(super) struct PathSegment {
    pub(super) key: Key,
    pub(super) at: Range<usize>,
}

impl PathSegment {
    pub(super) fn key(&self) -> KeyRef<'_> {
        self.key.as_ref()
    }
}

/// A borrowed literal key of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyRef<'k> {
    /// `.name` or `['name']`.
    Name(&'k str),
    /// `[0]`, `.0` or `[-1]`, from the end.
    Index(i64),
}

/// The literal keys of a path. Large plans have very many, and nearly all are plain names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Keys {
    /// Names joined by dots.
    Plain(SmolStr),
    /// Keys of which one is an index, is empty or contains a dot.
    Any(Box<[Key]>),
}

/// One literal key of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Name(Box<str>),
    Index(i64),
}

impl Key {
    pub(super) fn as_ref(&self) -> KeyRef<'_> {
        match self {
            Key::Name(name) => KeyRef::Name(name),
            Key::Index(index) => KeyRef::Index(*index),
        }
    }
}

impl Keys {
    /// `first` followed by the keys of segments.
    pub(super) fn of(first: Option<&str>, segments: &[PathSegment]) -> Keys {
        let keys =
            || first.map(KeyRef::Name).into_iter().chain(segments.iter().map(PathSegment::key));
        let plain = |key: KeyRef<'_>| match key {
            KeyRef::Name(name) => !name.is_empty() && !name.contains('.'),
            KeyRef::Index(_) => false,
        };
        if !keys().all(plain) {
            let own = |key| match key {
                KeyRef::Name(name) => Key::Name(name.into()),
                KeyRef::Index(index) => Key::Index(index),
            };
            return Keys::Any(keys().map(own).collect());
        }
        let mut text = String::new();
        for key in keys() {
            if let KeyRef::Name(name) = key {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(name);
            }
        }
        Keys::Plain(text.as_str().into())
    }

    /// The keys in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = KeyRef<'_>> {
        let (plain, any): (&str, &[Key]) = match self {
            Keys::Plain(text) => (text, &[]),
            Keys::Any(keys) => ("", keys),
        };
        let plain = plain.split('.').filter(|name| !name.is_empty()).map(KeyRef::Name);
        plain.chain(any.iter().map(Key::as_ref))
    }
}
