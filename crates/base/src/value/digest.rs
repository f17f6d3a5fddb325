//! SHA-256 digests.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest as _;
use std::fmt;
use std::io::BufWriter;

/// Bytes that are collected before they are hashed.
const BUFFER: usize = 1 << 10;

/// A SHA-256 digest, printed as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Digest(sha2::Sha256::digest(bytes.as_ref()).into())
    }

    /// Computes the digest of what a function writes.
    pub(super) fn of_written(write: impl FnOnce(&mut BufWriter<sha2::Sha256>)) -> Self {
        let mut out = BufWriter::with_capacity(BUFFER, sha2::Sha256::new());
        write(&mut out);
        Digest(out.into_inner().map(|hash| hash.finalize().into()).unwrap_or_default())
    }

    /// The first `n` hexadecimal digits, for display and short ids.
    pub fn short(&self, n: usize) -> String {
        self.to_string()[..n.min(64)].to_owned()
    }

    /// Parses 64 hexadecimal digits; `None` for any other text.
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0u8; 32];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Digest(bytes))
    }

    /// A digest from its 32 raw bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Digest(bytes)
    }

    /// The 32 raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |four: u8| char::from(DIGITS[usize::from(four)]);
        let hex: String = self.0.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect();
        f.write_str(&hex)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…", self.short(12))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
        Digest::from_hex(&text).ok_or_else(|| serde::de::Error::custom("expected 64 hex digits"))
    }
}

/// Computes a digest incrementally, for files and streams that do not fit in memory.
#[derive(Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// Appends bytes to what is hashed.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes.as_ref());
    }

    /// The digest of all appended bytes.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}
