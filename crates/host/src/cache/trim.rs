//! The size of a cache: removes what was not used for the longest time, and content without a result.

use super::CachedResult;
use super::files::{read, unsealed};
use kb_base::value::{Digest, Timestamp, read_back};
use kb_clock::Clock;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long content without a result stays, because a step that is being verified may store its result
/// soon.
const UNUSED: Duration = Duration::from_secs(3600);

/// How long the lookups of a step that does not run any more stay.
const LOOKUPS: Duration = Duration::from_secs(90 * 24 * 3600);

/// The size that a cache may have, and what removes results above it.
#[derive(Debug)]
pub(super) struct SizeLimit {
    folder: PathBuf,
    max_bytes: u64,
    clock: Clock,
    /// The size as this process knows it; nothing before the first result. What other processes add is
    /// counted by their own checks.
    known: Mutex<Option<u64>>,
}

/// A file of the cache.
pub(super) struct StoredFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// Modification time, which is the time of the last use.
    pub(super) used_at: Timestamp,
}

impl SizeLimit {
    pub(super) fn new(folder: PathBuf, max_bytes: u64, clock: Clock) -> SizeLimit {
        SizeLimit { folder, max_bytes, clock, known: Mutex::default() }
    }

    /// Notes that a file was added.
    pub(super) fn added(&self, bytes: u64) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_mut() {
            *known += bytes;
        }
    }

    /// Removes the results that were not used for the longest time, until nine tenths of the limit are
    /// used at most.
    pub(super) fn trim(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = known.unwrap_or_else(|| self.size());
        *known = Some(now);
        if now <= self.max_bytes {
            return;
        }
        let mut results: Vec<StoredFile> = entries(&self.folder.join("results")).collect();
        results.sort_by_key(|file| std::cmp::Reverse(file.used_at));
        let (goal, tenth) = (self.max_bytes / 10 * 9, results.len() / 10 + 1);
        // Another process may have removed some meanwhile.
        let mut size = self.size();
        while size > goal && !results.is_empty() {
            let oldest = results.split_off(results.len().saturating_sub(tenth));
            self.remove(oldest.into_iter().map(|file| file.path));
            size = self.size();
        }
        let now = self.clock.of_files();
        let old = |file: &StoredFile| now.since(file.used_at) > LOOKUPS;
        for lookup in entries(&self.folder.join("steps")).filter(old) {
            let _ = fs::remove_file(lookup.path);
        }
        *known = Some(size);
    }

    fn size(&self) -> u64 {
        let folders = ["results", "files"].map(|name| self.folder.join(name));
        folders.iter().flat_map(|folder| entries(folder)).map(|file| file.bytes).sum()
    }

    /// Removes results and the content that only they used, and content that no result uses for long.
    /// Returns the number of removed bytes.
    pub(super) fn remove(&self, results: impl Iterator<Item = PathBuf>) -> u64 {
        let mut removed = 0;
        let mut freed = BTreeSet::new();
        for path in results {
            freed.extend(contents_of(&path));
            let bytes = fs::metadata(&path).map_or(0, |file| file.len());
            removed += fs::remove_file(&path).map_or(0, |()| bytes);
        }
        let rest = entries(&self.folder.join("results"));
        let used: BTreeSet<Digest> = rest.flat_map(|file| contents_of(&file.path)).collect();
        let now = self.clock.of_files();
        for file in entries(&self.folder.join("files")) {
            let digest = digest_of(&file.path);
            let is_used = digest.is_some_and(|digest| used.contains(&digest));
            let is_freed = digest.is_some_and(|digest| freed.contains(&digest));
            if !is_used && (is_freed || now.since(file.used_at) > UNUSED) {
                removed += fs::remove_file(&file.path).map_or(0, |()| file.bytes);
            }
        }
        removed
    }
}

/// The contents that a stored result uses.
fn contents_of(result: &Path) -> Vec<Digest> {
    let bytes = read(result).unwrap_or_default();
    let found: Option<CachedResult> = unsealed(&bytes).and_then(|text| read_back(text).ok());
    let files = found.into_iter().flat_map(|found| found.files);
    files.filter_map(|file| file.content).map(|content| content.digest).collect()
}

/// The digest that names a file.
fn digest_of(path: &Path) -> Option<Digest> {
    let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    Digest::from_hex(&(name(path.parent()?)? + &name(path)?))
}

/// The files in the two-letter directories of a folder, incomplete ones included.
pub(super) fn entries(folder: &Path) -> impl Iterator<Item = StoredFile> + use<> {
    let folders = fs::read_dir(folder).into_iter().flatten().flatten();
    folders.flat_map(|folder| fs::read_dir(folder.path())).flatten().flatten().filter_map(|file| {
        let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let used_at = Timestamp(found.mtime() * 1000 + found.mtime_nsec() / 1_000_000);
        Some(StoredFile { path: file.path(), bytes: found.len(), used_at })
    })
}
