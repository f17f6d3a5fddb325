//! Digests of files, as reports write them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use kb_base::value::Digest;

/// The fewest hexadecimal digits that identify a content.
const SHORT: usize = 7;

/// A digest that an entry claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClaimedDigest {
    /// SHA-256, in hexadecimal digits of either case or in Base64, with or without the name of the algorithm.
    Sha256(Digest),
    /// Hexadecimal digits that are fewer: the start of one, or a digest of another algorithm.
    Digits(String),
    /// Another text.
    Other,
}

impl ClaimedDigest {
    pub(super) fn of(text: &str) -> ClaimedDigest {
        let text = text.trim().to_owned();
        let lower = text.to_ascii_lowercase();
        let marks = [':', '=', '-', ' '];
        let named = ["sha256", "sha-256", "sha_256"].iter().find_map(|name| {
            let rest = lower.strip_prefix(name)?;
            rest.starts_with(marks).then(|| &text[text.len() - rest.len()..])
        });
        let own = named.unwrap_or(&text).trim_start_matches(marks);
        let own = own.strip_prefix("0x").unwrap_or(own);
        let digits = own.trim_end_matches(['…', '.']).to_ascii_lowercase();
        if let Some(digest) = Digest::from_hex(&digits) {
            return ClaimedDigest::Sha256(digest);
        }
        if digits.len() >= SHORT && digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return ClaimedDigest::Digits(digits);
        }
        let bytes = own.trim_end_matches('=');
        let decoded = STANDARD_NO_PAD.decode(bytes).or_else(|_| URL_SAFE_NO_PAD.decode(bytes));
        let whole: Option<[u8; 32]> = decoded.ok().and_then(|bytes| bytes.try_into().ok());
        whole.map_or(ClaimedDigest::Other, |bytes| ClaimedDigest::Sha256(Digest::from_bytes(bytes)))
    }

    /// Whether a content with this digest has it; `None` if it is not comparable.
    pub(super) fn is_of(&self, digest: Digest) -> Option<bool> {
        match self {
            ClaimedDigest::Sha256(own) => Some(*own == digest),
            ClaimedDigest::Digits(start) => {
                digest.to_string().starts_with(start.as_str()).then_some(true)
            }
            ClaimedDigest::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ClaimedDigest;
    use kb_base::value::Digest;

    #[test]
    fn every_spelling_of_a_digest_is_compared() {
        let digest = Digest::of(b"text\n");
        let hex = digest.to_string();
        let upper = hex.to_uppercase();
        let other = Digest::of(b"other\n");
        for text in [
            upper.clone(),
            format!("sha256:{hex}"),
            format!("SHA256:{upper}"),
            format!("sha-256={hex}"),
            format!("sha256 {hex}"),
            format!(" 0x{hex} "),
            format!("{}…", &hex[..12]),
        ] {
            assert_eq!(ClaimedDigest::of(&text).is_of(digest), Some(true), "{text}");
            assert_ne!(ClaimedDigest::of(&text).is_of(other), Some(true), "{text}");
        }
        let encoded = "uUtbGyYVXbEdPTVPtFUr5tVBkuNzQrjL/8uqBTdZO6Q=";
        let known =
            Digest::from_hex("b94b5b1b26155db11d3d354fb4552be6d54192e37342b8cbffcbaa0537593ba4");
        for text in [encoded.to_owned(), format!("sha256-{encoded}")] {
            assert_eq!(ClaimedDigest::of(&text).is_of(known.unwrap()), Some(true), "{text}");
        }
        for text in ["d41d8cd98f00b204e9800998ecf8427e", "n/a", ""] {
            assert_eq!(ClaimedDigest::of(text).is_of(digest), None, "{text}");
        }
    }
}
