//! Turns new and changed files into fires.
//!
//! The files of each trigger are compared every two seconds, also with what they were when the last daemon
//! stopped. A file counts when it has not changed between two comparisons, so that a file that is still
//! being written is left alone. Symbolic links are not followed.

use super::catalog::{LoadedTrigger, TriggerCatalog};
use super::events::{enabled, event_fire};
use kb_base::value::{Digest, Glob, Timestamp};
use kb_language::definition::TriggerSource;
use kb_language::schedule::ActiveRuns;
use kb_service::service::ServiceError;
use kb_service::trigger::{Recorded, TriggerState, TriggerStore};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Interval between two comparisons.
const INTERVAL: Duration = Duration::from_secs(2);
/// Maximum number of files of one trigger.
const MOST_FILES: usize = 10_000;
/// Maximum depth of folders.
const DEPTH: u32 = 32;
/// Maximum size of a file.
const LARGEST: u64 = 1 << 30;

/// Size, times and inode of a file.
type Stamp = (u64, i64, i64, u64);

/// What the daemon knows about the files of triggers.
#[derive(Debug, Default)]
pub(super) struct WatchedFiles {
    compared: Option<Timestamp>,
    triggers: BTreeMap<String, Watched>,
}

#[derive(Debug, Default)]
struct Watched {
    /// The cursor of the trigger when it was enabled.
    enabled: Timestamp,
    /// Files whose content was handled.
    handled: BTreeMap<String, Stamp>,
    /// Files that changed since the last comparison.
    changing: BTreeMap<String, Stamp>,
}

impl WatchedFiles {
    /// Whether a comparison is due.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.compared.is_none_or(|last| now < last || now.since(last) >= INTERVAL)
    }

    /// The fires of files that are new or changed.
    pub(super) fn compare(
        &mut self,
        root: &Path,
        store: &TriggerStore,
        catalog: &TriggerCatalog,
        active: &mut BTreeMap<String, ActiveRuns>,
        now: Timestamp,
    ) -> Result<Vec<Recorded>, ServiceError> {
        self.compared = Some(now);
        let states = store.states()?;
        let mut all = Vec::new();
        for (loaded, state) in enabled(catalog, &states, |s| matches!(s, TriggerSource::File(_))) {
            let watched = self.triggers.entry(loaded.id.clone()).or_default();
            let active = active.entry(loaded.id.clone()).or_default();
            let fires = watched.compare(root, store, loaded, state, active)?;
            if !fires.is_empty() {
                all.push(Recorded { trigger: loaded.id.clone(), cursor: state.cursor, fires });
            }
        }
        Ok(all)
    }
}

impl Watched {
    fn compare(
        &mut self,
        root: &Path,
        store: &TriggerStore,
        loaded: &LoadedTrigger,
        state: &TriggerState,
        active: &mut ActiveRuns,
    ) -> Result<Vec<kb_service::trigger::NewFire>, ServiceError> {
        let TriggerSource::File(source) = &loaded.trigger.source else { return Ok(Vec::new()) };
        if self.enabled != state.cursor {
            *self = Watched { enabled: state.cursor, ..Watched::default() };
        }
        let mut fires = Vec::new();
        let found = files_of(root, &source.paths);
        self.handled.retain(|path, _| found.contains_key(path));
        for (path, stamp) in found {
            if self.handled.get(&path) == Some(&stamp) {
                continue;
            }
            // It must be the same in two comparisons.
            if self.changing.insert(path.clone(), stamp) != Some(stamp) {
                continue;
            }
            self.changing.remove(&path);
            self.handled.insert(path.clone(), stamp);
            // What was there when the trigger was enabled starts nothing.
            let changed_ms = stamp.1.saturating_mul(1000).saturating_add(stamp.2 / 1_000_000);
            if changed_ms < state.cursor.0 {
                continue;
            }
            let Some(digest) = digest_of(&root.join(&path), stamp) else { continue };
            let key = format!("file:{path}:{digest}");
            if store.fire(&loaded.id, &key)?.is_some() {
                continue;
            }
            let payload = json!({"path": path, "digest": digest.to_string()});
            fires.push(event_fire(loaded, state, key, &payload, 0, active));
        }
        Ok(fires)
    }
}

/// The digest of a file, unless it changed since it was found.
fn digest_of(path: &Path, stamp: Stamp) -> Option<Digest> {
    if stamp.0 > LARGEST {
        return None;
    }
    let mut hasher = kb_base::value::Hasher::default();
    let mut file = fs::File::open(path).ok()?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        match std::io::Read::read(&mut file, &mut buffer).ok()? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    (stamp_of(&file.metadata().ok()?) == stamp).then(|| hasher.finish())
}

fn stamp_of(found: &fs::Metadata) -> Stamp {
    (found.size(), found.ctime(), found.ctime_nsec(), found.ino())
}

/// The regular files below the root that a glob matches.
fn files_of(root: &Path, globs: &[String]) -> BTreeMap<String, Stamp> {
    let mut found = BTreeMap::new();
    for glob in globs {
        let Ok(set) = Glob::of_paths(glob) else { continue };
        walk(root, &base_of(glob), DEPTH, &set, &mut found);
    }
    found
}

/// The folders at the start of a glob that have no wildcard.
fn base_of(glob: &str) -> PathBuf {
    let parts: Vec<&str> = glob.split('/').collect();
    let folders = &parts[..parts.len().saturating_sub(1)];
    folders.iter().take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).collect()
}

fn walk(root: &Path, folder: &Path, depth: u32, globs: &Glob, found: &mut BTreeMap<String, Stamp>) {
    let path = root.join(folder);
    // A folder that is a link could lead out of the project.
    if folder.components().count() > 0 && !fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir()) {
        return;
    }
    let Ok(entries) = fs::read_dir(&path) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let inner = folder.join(entry.file_name());
        if kind.is_dir() && depth > 0 && entry.file_name() != ".git" {
            walk(root, &inner, depth - 1, globs, found);
        } else if kind.is_file()
            && found.len() < MOST_FILES
            && let (Some(text), Ok(metadata)) = (inner.to_str(), entry.metadata())
            && globs.is_match(text)
        {
            found.insert(text.to_owned(), stamp_of(&metadata));
        }
    }
}
