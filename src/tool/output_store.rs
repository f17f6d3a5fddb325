use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The whole results of one attempt's calls, by their reference, for `output:read`.
///
/// Bounded: where all of them together grow too large, the oldest are let go.
#[derive(Debug, Default)]
pub struct OutputStore {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_ref: BTreeMap<String, (u64, Arc<str>)>,
    bytes: usize,
    count: u64,
}

/// What the store holds at most.
const MAX_BYTES: usize = 64 << 20;

impl OutputStore {
    /// Keeps a text under a reference; a later one takes an earlier one's place.
    pub fn keep(&self, reference: &str, text: &str) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.count += 1;
        let order = kept.count;
        kept.bytes += text.len();
        if let Some((_, old)) = kept.by_ref.insert(reference.to_owned(), (order, text.into())) {
            kept.bytes -= old.len();
        }
        while kept.bytes > MAX_BYTES && kept.by_ref.len() > 1 {
            let oldest = kept.by_ref.iter().min_by_key(|(_, (order, _))| *order);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
            if let Some((_, old)) = kept.by_ref.remove(&key) {
                kept.bytes -= old.len();
            }
        }
    }

    /// The text under a reference.
    pub fn get(&self, reference: &str) -> Option<Arc<str>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.by_ref.get(reference).map(|(_, text)| text.clone())
    }
}
