use super::{Batch, InboxItem, JournalError, NewRun, RunRow, StoredEvent};
use crate::value::{Digest, Json, RunId};

/// Where runs live. One process holds a run at a time, by its epoch.
pub trait Journal: Send + Sync {
    /// Makes the run and takes hold of it; epoch 1.
    fn create(&self, new: NewRun) -> Result<u64, JournalError>;
    /// Takes hold of a run whose holder is gone; its new epoch.
    fn take(&self, run: &RunId) -> Result<u64, JournalError>;
    /// The process that held the run before this one and did not let go: it was killed.
    fn previous_owner(&self, _: &RunId) -> Option<u32> {
        None
    }
    /// Lets go; others may take it at once.
    fn release(&self, run: &RunId, epoch: u64);
    /// Stores all of a batch or none; the new last seq.
    fn append(&self, run: &RunId, epoch: u64, batch: Batch<'_>) -> Result<u64, JournalError>;
    /// Events after a seq, in order.
    fn events(&self, run: &RunId, after: u64) -> Result<Vec<StoredEvent>, JournalError> {
        self.read_events(run, after, usize::MAX)
    }
    /// The first of them, so many at most.
    fn read_events(
        &self,
        run: &RunId,
        after: u64,
        most: usize,
    ) -> Result<Vec<StoredEvent>, JournalError>;
    /// The head of a run's hash chain; `None` where this journal keeps none for it.
    fn head(&self, run: &RunId) -> Result<Option<Digest>, JournalError>;
    /// One run.
    fn run(&self, run: &RunId) -> Result<RunRow, JournalError>;
    /// Everything that a run has frozen: definition texts, parameters, tier → model, prices, script.
    /// It may be as large as its definitions, so no list holds it.
    fn frozen(&self, run: &RunId) -> Result<Json, JournalError>;
    /// All runs, newest first.
    fn list(&self) -> Result<Vec<RunRow>, JournalError>;
    /// The run that a text names: an id, a unique prefix, or `@last`.
    fn find(&self, text: &str) -> Result<RunId, JournalError>;
    /// Stores bytes by their digest; storing them again is nothing.
    fn put_blob(&self, bytes: &[u8]) -> Result<Digest, JournalError>;
    /// Reads a blob, checked against its digest.
    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, JournalError>;
    /// Leaves something for a run's holder; the same `key` again is nothing.
    fn post(&self, run: &RunId, key: &str, kind: &str, body: Json) -> Result<(), JournalError>;
    /// What was left and not taken yet, oldest first.
    fn inbox(&self, run: &RunId) -> Result<Vec<InboxItem>, JournalError>;
    /// Marks items as taken of which no event came; the others go with their batch. Refused for a
    /// stale holder: what was left is for the one who can act on it.
    fn taken(&self, run: &RunId, epoch: u64, ids: &[i64]) -> Result<(), JournalError>;
    /// Whether a process holds the run now.
    fn is_leased(&self, run: &RunId) -> Result<bool, JournalError>;
}
