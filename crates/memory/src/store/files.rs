//! The files that people share, indexed by their digests.

use super::MemoryStore;
use super::conflicts::{settle, subject_key};
use super::propose::{insert, tags_json, write_parts};
use super::rows::{add_event, by_id, number_of, set_state};
use super::values::{Event, Synced};
use crate::entry::State;
use crate::error::MemoryError;
use crate::shared_file::SharedFile;
use kb_base::value::Timestamp;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

impl MemoryStore {
    /// Takes over the files of the project: a new or changed one becomes a shared entry, and an entry whose file is gone
    /// is archived. `kept` names files that are there and cannot be read; their entries stay as they are. A file whose
    /// digest is known costs nothing.
    pub fn sync_files(
        &self,
        files: &[SharedFile],
        kept: &[String],
        at: Timestamp,
    ) -> Result<Synced, MemoryError> {
        let known = digests(&self.connection())?;
        let is_known = |file: &SharedFile| known.get(file.id()) == Some(&file.sha256.to_string());
        let changed: Vec<&SharedFile> = files.iter().filter(|file| !is_known(file)).collect();
        let is_there =
            |id: &String| kept.contains(id) || files.iter().any(|file| file.id() == id.as_str());
        let gone: Vec<&String> = known.keys().filter(|id| !is_there(id)).collect();
        if changed.is_empty() && gone.is_empty() {
            return Ok(Synced::default());
        }
        self.change(|connection| {
            for file in &changed {
                take(connection, file, at)?;
            }
            for id in &gone {
                drop_file(connection, id, at)?;
            }
            Ok(Synced {
                taken: changed.iter().map(|file| file.id().to_owned()).collect(),
                archived: gone.into_iter().cloned().collect(),
            })
        })
    }
}

/// The digests of the files that were taken over, by id.
fn digests(connection: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut query =
        connection.prepare_cached("SELECT id, file FROM entry WHERE file IS NOT NULL")?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Makes an entry what its file says.
fn take(connection: &Connection, file: &SharedFile, at: Timestamp) -> Result<(), MemoryError> {
    let draft = &file.draft;
    let by = file.approved_by.as_deref().unwrap_or(&draft.author);
    let earlier = subject_key(connection, &draft.id)?;
    match number_of(connection, &draft.id)? {
        Some(number) => write_parts(connection, number, draft)?,
        None => insert(connection, draft, at)?,
    }
    connection.execute(
        "UPDATE entry SET kind = ?2, subject = ?3, subject_key = ?4, text = ?5, text_key = ?6, tags = ?7,
         scope = NULL, state = 'shared', trust = 'person', approved_by = ?8, file = ?9, updated = ?10
         WHERE id = ?1",
        params![
            draft.id,
            draft.kind.as_str(),
            draft.subject,
            draft.subject_key,
            draft.text,
            draft.text_key,
            tags_json(draft),
            by,
            file.sha256.to_string(),
            at.0
        ],
    )?;
    add_event(connection, &draft.id, &Event::new(at, by, "shared"))?;
    settle(connection, earlier.as_deref(), at)?;
    settle(connection, draft.subject_key.as_deref(), at)?;
    Ok(())
}

fn drop_file(connection: &Connection, id: &str, at: Timestamp) -> Result<(), MemoryError> {
    let Some(entry) = by_id(connection, id)? else { return Ok(()) };
    connection.execute("UPDATE entry SET file = NULL WHERE id = ?1", [id])?;
    if entry.state.is_live() {
        let event = Event::new(at, "kb", "archived").note("its file was removed");
        set_state(connection, &entry, State::Archived, &event)?;
    }
    settle(connection, subject_key(connection, id)?.as_deref(), at)?;
    Ok(())
}
