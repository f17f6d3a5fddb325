//! Backups of the state folder, and their restoration.

use super::ServiceError;
use super::runs::ProjectContext;
use crate::trigger::TriggerStore;
use kb_engine::journal::{self, Backup};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a consistent copy of the journal, its blobs and the state of triggers to a file, while runs go
/// on. The triggers are copied first: every run that they name as started is in the journal.
pub fn back_up(context: &ProjectContext, file: &Path) -> Result<Backup, ServiceError> {
    let journal = context.journal(Default::default())?;
    let mut others = Vec::new();
    if TriggerStore::exists_in(&context.state_dir) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".backup-{}-{count}.sqlite3", std::process::id());
        let copy = context.state_dir.join(name);
        let _ = std::fs::remove_file(&copy);
        let copied = TriggerStore::open(&context.state_dir)?.copy_to(&copy);
        let bytes = copied.map(|()| std::fs::read(&copy));
        let _ = std::fs::remove_file(&copy);
        let bytes = bytes?.map_err(|error| {
            journal::JournalError::Broken(format!("the copy of the triggers is lost: {error}"))
        })?;
        others.push((TriggerStore::FILE, bytes));
    }
    Ok(journal.back_up(&context.environment.absolute(file), &others)?)
}

/// What was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// Runs and large values.
    #[serde(flatten)]
    pub backup: Backup,
    /// Number of enabled triggers, which are paused now.
    pub paused_triggers: usize,
}

/// Creates the state folder of a project from a backup. Fails if it has a journal. Its triggers are paused: the
/// project of the backup may still be served, and its times and events are not to be handled twice.
pub fn restore(context: &ProjectContext, file: &Path) -> Result<Restored, ServiceError> {
    let backup = journal::restore(&context.environment.absolute(file), &context.state_dir)?;
    let mut paused_triggers = 0;
    if TriggerStore::exists_in(&context.state_dir) {
        paused_triggers =
            TriggerStore::open(&context.state_dir)?.pause_all("restored from a backup")?;
    }
    Ok(Restored { backup, paused_triggers })
}
