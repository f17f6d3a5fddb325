//! [`FileScan`]: compares the files of triggers with what they were, and computes the digests of those that changed.
//!
//! It is work of its own thread, because folders can be deep and files large. It opens regular files only, and
//! it ends when the daemon does.

use kb_attempt::open_regular;
use kb_base::value::{Digest, Glob, Hasher, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Maximum number of files of one trigger.
const MOST_FILES: usize = 10_000;
/// Maximum depth of folders.
const DEPTH: u32 = 32;
/// Maximum size of a file.
const LARGEST: u64 = 1 << 30;
/// After so many bytes, a comparison leaves the rest to the next one.
const BYTES: u64 = 256 << 20;

/// Size, times and inode of a file.
type Stamp = (u64, i64, i64, u64);

/// A trigger whose files are compared.
#[derive(Debug, Clone)]
pub(super) struct WatchedPaths {
    pub(super) trigger: String,
    pub(super) globs: Vec<String>,
    /// The cursor of the trigger when it was enabled: older files start nothing.
    pub(super) enabled: Timestamp,
}

/// A file with a new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    pub(super) trigger: String,
    pub(super) enabled: Timestamp,
    pub(super) path: String,
    pub(super) digest: Digest,
}

/// What earlier comparisons saw, by trigger.
#[derive(Debug, Default)]
pub(super) struct FileScan {
    triggers: BTreeMap<String, Seen>,
    /// Files whose digest is left to the next comparison.
    pub(super) waiting: usize,
}

#[derive(Debug, Default)]
struct Seen {
    enabled: Timestamp,
    /// Files whose content was handled.
    handled: BTreeMap<String, Stamp>,
    /// Files that changed since the last comparison.
    changing: BTreeMap<String, Stamp>,
}

/// A file that was the same in two comparisons.
struct Stable {
    trigger: usize,
    path: String,
    stamp: Stamp,
}

impl FileScan {
    /// Compares the files of all triggers. The smallest files come first, so that large ones do not delay them.
    pub(super) fn compare(
        &mut self,
        root: &Path,
        watched: &[WatchedPaths],
        stop: &CancellationToken,
    ) -> Vec<FoundFile> {
        let names: BTreeSet<&String> = watched.iter().map(|paths| &paths.trigger).collect();
        self.triggers.retain(|id, _| names.contains(id));
        let mut stable = Vec::new();
        for (index, paths) in watched.iter().enumerate() {
            let seen = self.triggers.entry(paths.trigger.clone()).or_default();
            let files = files_of(root, &paths.globs, stop);
            let found = seen.stable(paths.enabled, files).into_iter();
            stable.extend(found.map(|(path, stamp)| Stable { trigger: index, path, stamp }));
        }
        stable.sort_by_key(|file| file.stamp.0);
        self.waiting = stable.len();
        let (mut found, mut read) = (Vec::new(), 0);
        for file in stable {
            if read >= BYTES || stop.is_cancelled() {
                break;
            }
            read += file.stamp.0;
            self.waiting -= 1;
            let WatchedPaths { trigger, enabled, .. } = watched[file.trigger].clone();
            let digest = digest_of(&root.join(&file.path), file.stamp, stop);
            if let Some(seen) = self.triggers.get_mut(&trigger) {
                seen.changing.remove(&file.path);
                seen.handled.insert(file.path.clone(), file.stamp);
            }
            found.extend(digest.map(|digest| FoundFile {
                trigger,
                enabled,
                path: file.path,
                digest,
            }));
        }
        found.sort_by(|a, b| (&a.trigger, &a.path).cmp(&(&b.trigger, &b.path)));
        found
    }
}

impl Seen {
    /// The files that are new or changed, and were the same in the last comparison.
    fn stable(
        &mut self,
        enabled: Timestamp,
        files: BTreeMap<String, Stamp>,
    ) -> Vec<(String, Stamp)> {
        if self.enabled != enabled {
            *self = Seen { enabled, ..Seen::default() };
        }
        self.handled.retain(|path, _| files.contains_key(path));
        self.changing.retain(|path, _| files.contains_key(path));
        let mut stable = Vec::new();
        for (path, stamp) in files {
            if self.handled.get(&path) == Some(&stamp)
                || self.changing.insert(path.clone(), stamp) != Some(stamp)
            {
                continue;
            }
            // What was there when the trigger was enabled starts nothing.
            let changed_ms = stamp.1.saturating_mul(1000).saturating_add(stamp.2 / 1_000_000);
            if changed_ms < enabled.0 || stamp.0 > LARGEST {
                self.changing.remove(&path);
                self.handled.insert(path, stamp);
                continue;
            }
            stable.push((path, stamp));
        }
        stable
    }
}

/// The digest of a file, unless it changed since it was found.
fn digest_of(path: &Path, stamp: Stamp, stop: &CancellationToken) -> Option<Digest> {
    let mut file = open_regular(path).ok()?;
    let (mut hasher, mut buffer) = (Hasher::default(), vec![0; 64 << 10]);
    let mut left = stamp.0;
    loop {
        match file.read(&mut buffer).ok()? {
            0 => break,
            _ if stop.is_cancelled() => return None,
            count => {
                // A file that grows while it is read has no end.
                left = left.checked_sub(count as u64)?;
                hasher.update(&buffer[..count]);
            }
        }
    }
    (stamp_of(&file.metadata().ok()?) == stamp).then(|| hasher.finish())
}

fn stamp_of(found: &fs::Metadata) -> Stamp {
    (found.size(), found.ctime(), found.ctime_nsec(), found.ino())
}

/// The regular files below the root that a glob matches.
fn files_of(root: &Path, globs: &[String], stop: &CancellationToken) -> BTreeMap<String, Stamp> {
    let mut found = BTreeMap::new();
    for glob in globs {
        let Ok(set) = Glob::of_paths(glob) else { continue };
        Walk { root, globs: &set, stop, found: &mut found }.folder(&base_of(glob), DEPTH);
    }
    found
}

/// The folders at the start of a glob that have no wildcard.
fn base_of(glob: &str) -> PathBuf {
    let parts: Vec<&str> = glob.split('/').collect();
    let folders = &parts[..parts.len().saturating_sub(1)];
    folders.iter().take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).collect()
}

struct Walk<'a> {
    root: &'a Path,
    globs: &'a Glob,
    stop: &'a CancellationToken,
    found: &'a mut BTreeMap<String, Stamp>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: u32) {
        let path = self.root.join(folder);
        // A folder that is a link could lead out of the project.
        if folder.components().count() > 0 && !fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir())
        {
            return;
        }
        let Ok(entries) = fs::read_dir(&path) else { return };
        for entry in entries.flatten().take_while(|_| !self.stop.is_cancelled()) {
            let Ok(kind) = entry.file_type() else { continue };
            let inner = folder.join(entry.file_name());
            if kind.is_dir() && depth > 0 && entry.file_name() != ".git" {
                self.folder(&inner, depth - 1);
            } else if kind.is_file()
                && self.found.len() < MOST_FILES
                && let (Some(text), Ok(metadata)) = (inner.to_str(), entry.metadata())
                && self.globs.is_match(text)
            {
                self.found.insert(text.to_owned(), stamp_of(&metadata));
            }
        }
    }
}
