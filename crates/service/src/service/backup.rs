//! Backups of the state folder, and their restoration.

use super::runs::ProjectContext;
use super::{ServiceError, memory};
use crate::trigger::TriggerStore;
use kb_attempt::OutputFolder;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_engine::journal::{self, Backup};
use kb_memory::MemoryStore;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a consistent copy of the journal, its blobs, the state of triggers and the memory to a file, while runs go
/// on. The triggers are copied first: every run that they name as started is in the journal.
pub fn back_up(context: &ProjectContext, file: &Path) -> Result<Backup, ServiceError> {
    let journal = context.journal(Default::default())?;
    let (folder, mut others) = (&*context.state_dir, Vec::new());
    if TriggerStore::exists_in(folder) {
        let store = TriggerStore::open(folder)?;
        others.push((TriggerStore::FILE, copied(folder, |copy| Ok(store.copy_to(copy)?))?));
    }
    if MemoryStore::exists_in(folder) {
        let store = MemoryStore::open(folder).map_err(memory::failed)?;
        let copy = |copy: &Path| store.copy_to(copy).map_err(memory::failed);
        others.push((MemoryStore::FILE, copied(folder, copy)?));
    }
    let file = context.environment.absolute(file);
    let unusable = |error: std::io::Error| {
        let message = format!("`{}` cannot be written: {error}", file.display());
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    };
    let _open = OutputFolder::of(&file).map_err(unusable)?;
    Ok(journal.back_up(&file, &others)?)
}

/// The content of a database, through a copy in the state folder that is removed again.
fn copied(
    folder: &Path,
    copy_to: impl FnOnce(&Path) -> Result<(), ServiceError>,
) -> Result<Vec<u8>, ServiceError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let copy = folder.join(format!(".backup-{}-{count}.sqlite3", std::process::id()));
    let _ = std::fs::remove_file(&copy);
    let bytes = copy_to(&copy).map(|()| std::fs::read(&copy));
    let _ = std::fs::remove_file(&copy);
    let lost = |error| journal::JournalError::Broken(format!("the copy is lost: {error}"));
    Ok(bytes?.map_err(lost)?)
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
