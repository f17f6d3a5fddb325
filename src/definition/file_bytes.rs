use std::ops::Deref;
use std::sync::Arc;

/// The bytes of a file. Those of a text are held as one, which everything that points into it shares.
#[derive(Debug, Clone)]
pub struct FileBytes(Held);

#[derive(Debug, Clone)]
enum Held {
    Text(Arc<str>),
    Other(Arc<[u8]>),
}

impl FileBytes {
    /// The text, where they are UTF-8.
    pub fn text(&self) -> Option<&Arc<str>> {
        match &self.0 {
            Held::Text(text) => Some(text),
            Held::Other(_) => None,
        }
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::Text(text) => text.as_bytes(),
            Held::Other(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for FileBytes {
    fn from(bytes: &[u8]) -> FileBytes {
        FileBytes(match std::str::from_utf8(bytes) {
            Ok(text) => Held::Text(text.into()),
            Err(_) => Held::Other(bytes.into()),
        })
    }
}

impl From<Vec<u8>> for FileBytes {
    fn from(bytes: Vec<u8>) -> FileBytes {
        bytes.as_slice().into()
    }
}
