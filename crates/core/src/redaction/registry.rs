//! Masking for the outputs of a process that belong to no run: its log and the message of a panic.

use super::{Masked, Redactor};
use std::sync::{Arc, PoisonError, RwLock, Weak};

/// The redactors of the runs in this process. A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct Redactors(Arc<RwLock<Vec<Weak<Redactor>>>>);

impl Redactors {
    /// Adds the redactor of a run. It is removed when the run drops it.
    pub fn register(&self, redactor: &Arc<Redactor>) {
        let mut redactors = self.0.write().unwrap_or_else(PoisonError::into_inner);
        redactors.retain(|registered| registered.strong_count() > 0);
        redactors.push(Arc::downgrade(redactor));
    }

    /// Masks the secrets of all runs.
    pub fn mask(&self, text: String) -> Masked<String> {
        let redactors = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let live = redactors.iter().filter_map(Weak::upgrade);
        Masked::new(live.fold(text, |text, redactor| redactor.mask(text).into_inner()))
    }
}
