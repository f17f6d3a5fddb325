//! Detection of repeated tool calls.

use kb_base::value::{Digest, Json};
use std::collections::BTreeMap;

/// Counts how often the same call gave the same result without a file change in between. A test that
/// fails in the same way before and after an edit is work; one that fails in the same way three times
/// without an edit is a loop.
#[derive(Debug, Clone, Default)]
pub(super) struct Repetition {
    seen: BTreeMap<Digest, u32>,
    most: u32,
}

impl Repetition {
    pub(super) fn note(&mut self, tool: &str, args: &Json, result: &Json, changed: bool) {
        let key = Digest::of_json(&serde_json::json!([tool, args, result]));
        if changed {
            // The workspace differs now; only repetitions of this change continue to count.
            self.seen.retain(|other, _| *other == key);
        }
        let count = self.seen.entry(key).or_default();
        *count += 1;
        self.most = *count;
    }

    /// How often the most recent call has given this result, itself included.
    pub(super) fn count(&self) -> u32 {
        self.most
    }
}
