//! The bytes of a definition file. UTF-8 text is stored as one shared `Arc<str>`.

use std::ops::Deref;
use std::sync::Arc;

/// The bytes of a file. UTF-8 text is stored as a shared string, so that parsed values can refer to it
/// without a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBytes(Content);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Text(Arc<str>),
    Other(Arc<[u8]>),
}

impl FileBytes {
    /// The text, if the bytes are UTF-8.
    pub fn text(&self) -> Option<&Arc<str>> {
        match &self.0 {
            Content::Text(text) => Some(text),
            Content::Other(_) => None,
        }
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Content::Text(text) => text.as_bytes(),
            Content::Other(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for FileBytes {
    fn from(bytes: &[u8]) -> FileBytes {
        FileBytes(match std::str::from_utf8(bytes) {
            Ok(text) => Content::Text(text.into()),
            Err(_) => Content::Other(bytes.into()),
        })
    }
}

impl From<Vec<u8>> for FileBytes {
    fn from(bytes: Vec<u8>) -> FileBytes {
        bytes.as_slice().into()
    }
}
