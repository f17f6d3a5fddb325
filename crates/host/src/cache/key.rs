//! Keys: what a result was made from, part by part, so that a miss can be explained.

use hmac::{Hmac, Mac};
use kb_base::value::Digest;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::collections::BTreeMap;

/// Maximum length of the shown text of a part, in characters.
const SHOWN: usize = 120;
/// Maximum number of differing parts that a text names.
const NAMED: usize = 3;

/// One part of a key, such as the command, a variable or an input file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPart {
    /// Its name: `command`, `env.MODE`, `file src/a.rs`, …
    pub name: String,
    /// Keyed digest of its value. The key is random and local, so that a secret in the value cannot be
    /// guessed from the digest.
    pub digest: Digest,
    /// The start of its value, masked; nothing for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
}

/// A complete key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheKey {
    /// Digest of all parts.
    pub digest: Digest,
    /// The parts in order.
    pub parts: Vec<KeyPart>,
}

/// Collects the parts of a key.
#[derive(Debug)]
pub struct KeyBuilder {
    seed: [u8; 32],
    parts: Vec<KeyPart>,
}

impl KeyBuilder {
    pub(super) fn new(seed: [u8; 32]) -> KeyBuilder {
        KeyBuilder { seed, parts: Vec::new() }
    }

    /// Adds a part. `shown` is its masked value, of which the start is kept.
    pub fn add(&mut self, name: impl Into<String>, value: impl AsRef<[u8]>, shown: Option<&str>) {
        let name = name.into();
        let digest = keyed(&self.seed, &[name.as_bytes(), b"\0", value.as_ref()]);
        let shown = shown.map(|text| match text.char_indices().nth(SHOWN) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text.to_owned(),
        });
        self.parts.push(KeyPart { name, digest, shown });
    }

    /// The key of all parts.
    pub fn finish(self) -> CacheKey {
        let mut text = String::with_capacity(self.parts.len() * 96);
        for part in &self.parts {
            text.push_str(&format!("{} {}\n", part.digest, part.name));
        }
        CacheKey { digest: keyed(&self.seed, &[text.as_bytes()]), parts: self.parts }
    }
}

fn keyed(seed: &[u8; 32], texts: &[&[u8]]) -> Digest {
    let mut mac =
        <Hmac<Sha256> as Mac>::new_from_slice(seed).expect("HMAC takes keys of any length");
    texts.iter().for_each(|text| mac.update(text));
    Digest::from_bytes(mac.finalize().into_bytes().into())
}

/// Which parts of a key differ from those of an earlier one, as human-readable text; `None` if none does.
pub(super) fn difference(now: &[KeyPart], before: &[KeyPart]) -> Option<String> {
    let by_name = |parts: &[KeyPart]| -> BTreeMap<String, Digest> {
        parts.iter().map(|part| (part.name.clone(), part.digest)).collect()
    };
    let (then, new) = (by_name(before), by_name(now));
    let changed = now.iter().filter_map(|part| match then.get(&part.name) {
        None => Some(format!("{} is new", shown(&part.name))),
        Some(digest) if *digest != part.digest => Some(format!("{} changed", shown(&part.name))),
        Some(_) => None,
    });
    let gone = before.iter().filter(|part| !new.contains_key(&part.name));
    let found: Vec<String> =
        changed.chain(gone.map(|part| format!("{} is gone", shown(&part.name)))).collect();
    let rest = found.len().saturating_sub(NAMED);
    let mut text = found.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if rest > 0 {
        text.push_str(&format!(" and {rest} more parts differ"));
    }
    (!found.is_empty()).then_some(text)
}

/// The name of a part in prose: `the file `src/a.rs``, `the variable `MODE``, `the command`.
fn shown(name: &str) -> String {
    match (name.strip_prefix("file "), name.strip_prefix("env.")) {
        (Some(path), _) => format!("the file `{path}`"),
        (None, Some(variable)) => format!("the variable `{variable}`"),
        (None, None) => format!("the {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[(&str, &str)]) -> CacheKey {
        let mut key = KeyBuilder::new([7; 32]);
        parts.iter().for_each(|(name, value)| key.add(*name, value, Some(value)));
        key.finish()
    }

    #[test]
    fn a_difference_names_the_parts() {
        let before = key(&[("command", "make"), ("env.A", "1"), ("file x", "1"), ("file y", "1")]);
        let now = key(&[("command", "make"), ("env.A", "2"), ("file x", "1"), ("file z", "1")]);
        let text = difference(&now.parts, &before.parts).unwrap();
        assert_eq!(text, "the variable `A` changed, the file `z` is new, the file `y` is gone");
        assert_eq!(difference(&now.parts, &now.parts), None);
        assert_ne!(now.digest, before.digest);
    }

    #[test]
    fn the_same_value_has_another_digest_in_another_cache() {
        let mut other = KeyBuilder::new([8; 32]);
        other.add("env.TOKEN", "hunter22", None);
        let here = key(&[("env.TOKEN", "hunter22")]);
        assert_ne!(here.parts[0].digest, other.finish().parts[0].digest);
    }
}
