//! The blobs that stored texts refer to.

use kb_base::value::Digest;
use std::collections::BTreeSet;

/// Adds every digest in a text: each word of 64 hexadecimal digits. Some of them are digests of other
/// things than blobs, so the result can contain too many, never too few.
pub(super) fn add_digests(text: &str, found: &mut BTreeSet<Digest>) {
    let words = text.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 64);
    found.extend(words.filter_map(Digest::from_hex));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_a_whole_word() {
        let digest = Digest::of(b"x");
        let mut found = BTreeSet::new();
        add_digests(&format!("{{\"a\":\"{digest}\",\"b\":\"{digest}0\"}}"), &mut found);
        assert_eq!(found, [digest].into());
    }
}
