use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

/// The most bytes that a text holds within itself.
const WITHIN: usize = 22;

/// A text that is mostly short, such as a key: up to 22 bytes are held within it, without memory of
/// their own. Large definitions hold very many.
#[derive(Clone)]
pub struct ShortText(Form);

#[derive(Clone)]
enum Form {
    Within { length: u8, bytes: [u8; WITHIN] },
    Apart(Box<str>),
}

impl ShortText {
    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Within { .. } => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Form::Apart(text) => text,
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Form::Within { length, bytes } => &bytes[..usize::from(*length)],
            Form::Apart(text) => text.as_bytes(),
        }
    }
}

impl From<&str> for ShortText {
    fn from(text: &str) -> ShortText {
        let mut bytes = [0; WITHIN];
        match bytes.get_mut(..text.len()) {
            Some(within) => {
                within.copy_from_slice(text.as_bytes());
                ShortText(Form::Within { length: text.len() as u8, bytes })
            }
            None => ShortText(Form::Apart(text.into())),
        }
    }
}

impl Deref for ShortText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for ShortText {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for ShortText {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl PartialEq for ShortText {
    fn eq(&self, other: &ShortText) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for ShortText {}

impl PartialEq<str> for ShortText {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for ShortText {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_what_it_was_made_of_whatever_its_length() {
        for text in ["", "output.v0", "é".repeat(11).as_str(), &"é".repeat(12), &"x".repeat(23)] {
            let short = ShortText::from(text);
            assert_eq!((short.as_str(), &short, short == *text), (text, &short.clone(), true));
            let within = matches!(short.0, Form::Within { .. });
            assert_eq!(within, text.len() <= WITHIN, "{text}");
            let other = ShortText::from("output");
            assert!(short != other && short != *"output");
        }
        assert_eq!(size_of::<ShortText>(), 24);
    }
}
