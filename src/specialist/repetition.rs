use crate::value::{Digest, Json};
use std::collections::BTreeMap;

/// Counts how often the same call gave the same result while nothing changed in between. A test
/// that fails alike before and after an edit is work; one that fails alike three times without
/// anything between is a loop.
#[derive(Debug, Clone, Default)]
pub(super) struct Repetition {
    seen: BTreeMap<Digest, u32>,
    most: u32,
}

impl Repetition {
    pub(super) fn note(&mut self, tool: &str, args: &Json, result: &Json, changed: bool) {
        let key = Digest::of_json(&serde_json::json!([tool, args, result]));
        if changed {
            // The world is another one now; only repeating this very change goes on counting.
            self.seen.retain(|other, _| *other == key);
        }
        let count = self.seen.entry(key).or_default();
        *count += 1;
        self.most = *count;
    }

    /// How often the last call gave what it had given before, itself included.
    pub(super) fn count(&self) -> u32 {
        self.most
    }
}
