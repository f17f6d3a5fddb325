//! The complete results of tool calls, for `output:read`.

use kb_base::value::limits::TOOL_RESULT_CHARS;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The complete results of the tool calls of one attempt, by reference. When the limit is exceeded,
/// the oldest results are removed.
#[derive(Debug, Default)]
pub struct OutputStore {
    stored: Mutex<StoredOutputs>,
    /// Characters of one piece; 0: the smallest.
    piece: AtomicUsize,
    /// Contents of the artifacts of earlier steps, by id.
    artifacts: Mutex<BTreeMap<String, Arc<str>>>,
}

#[derive(Debug, Default)]
struct StoredOutputs {
    by_ref: BTreeMap<String, (u64, Arc<str>)>,
    bytes: usize,
    count: u64,
}

/// Maximum size of all stored results.
const MAX_BYTES: usize = 64 << 20;

impl OutputStore {
    /// Stores a text under a reference and replaces an earlier one.
    pub fn keep(&self, reference: &str, text: &str) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.count += 1;
        let order = stored.count;
        stored.bytes += text.len();
        if let Some((_, old)) = stored.by_ref.insert(reference.to_owned(), (order, text.into())) {
            stored.bytes -= old.len();
        }
        while stored.bytes > MAX_BYTES && stored.by_ref.len() > 1 {
            let oldest = stored.by_ref.iter().min_by_key(|(_, (order, _))| *order);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
            if let Some((_, old)) = stored.by_ref.remove(&key) {
                stored.bytes -= old.len();
            }
        }
    }

    /// Sets how many characters of a result the model is shown at once.
    pub fn show(&self, chars: usize) {
        self.piece.store(chars, Ordering::Relaxed);
    }

    /// Maximum number of characters that `output:read` returns at once. JSON escaping can double them;
    /// the result is then still shown completely.
    pub fn piece(&self) -> usize {
        self.piece.load(Ordering::Relaxed).max(5 * TOOL_RESULT_CHARS) / 2 - 100
    }

    /// Makes an artifact of an earlier step readable.
    pub fn keep_artifact(&self, id: &str, text: &str) {
        let mut artifacts = self.artifacts.lock().unwrap_or_else(PoisonError::into_inner);
        artifacts.insert(id.to_owned(), text.into());
    }

    /// The content of an artifact.
    pub fn artifact(&self, id: &str) -> Option<Arc<str>> {
        self.artifacts.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// The text under a reference.
    pub fn get(&self, reference: &str) -> Option<Arc<str>> {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.by_ref.get(reference).map(|(_, text)| text.clone())
    }
}
