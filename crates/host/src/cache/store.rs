//! [`ResultCache`]: the stored results of one project.

use super::files::{by_digest, read, sealed, sweep, touch, unsealed, write, write_new};
use super::key::difference;
use super::trim::SizeLimit;
use super::{CacheKey, CachedResult, KeyBuilder, Lookup};
use kb_base::value::{Digest, Timestamp, read_back};
use kb_clock::Clock;
use kb_core::redaction::Masked;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The stored results of one project, in the folder `cache` of its state folder:
///
/// - `results/ab/cdef…`: one result by its key
/// - `files/ab/cdef…`: the content of a file by its digest
/// - `steps/ab/cdef…`: the last lookup of a step
/// - `seed`: the random key of all digests of parts
#[derive(Debug)]
pub struct ResultCache {
    folder: PathBuf,
    limit: SizeLimit,
}

/// A result in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedResult {
    /// What is stored, without the contents of its files.
    pub result: CachedResult,
    /// Size of the result and its files in bytes. Files that several results share count for each.
    pub bytes: u64,
    /// When it was stored or used last.
    pub used_at: Timestamp,
}

impl ResultCache {
    /// The cache in the state folder of a project. Nothing is created before the first result is
    /// stored. `max_bytes` is the size above which the results that were not used for the longest time
    /// are removed.
    pub fn new(state_dir: &Path, max_bytes: u64, clock: Clock) -> ResultCache {
        let folder = state_dir.join("cache");
        ResultCache { limit: SizeLimit::new(folder.clone(), max_bytes, clock), folder }
    }

    /// Removes the incomplete files that killed processes left.
    pub fn sweep(&self) {
        // A folder for each sort, and in it one for the first two digits.
        sweep(&self.folder, 2);
    }

    /// Starts a key.
    pub fn key(&self) -> io::Result<KeyBuilder> {
        Ok(KeyBuilder::new(self.seed()?))
    }

    /// The random key of the digests. The first process creates it; the others read that one.
    fn seed(&self) -> io::Result<[u8; 32]> {
        let path = self.folder.join("seed");
        if let Ok(seed) = read(&path).and_then(whole) {
            return Ok(seed);
        }
        let mut seed = [0; 32];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut seed)?;
        // A damaged seed is replaced; its results are not found any more.
        if path.exists() {
            write(&path, &seed)?
        } else {
            write_new(&path, &seed)?
        }
        read(&path).and_then(whole)
    }

    /// The result with this key. The error says why a stored one cannot be used.
    pub fn find(&self, key: &Digest) -> Result<Option<CachedResult>, String> {
        let path = self.result_path(key);
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("the stored result cannot be read: {error}")),
        };
        let found: Option<CachedResult> = unsealed(&bytes).and_then(|text| read_back(text).ok());
        match found.filter(|found| found.key == *key) {
            Some(found) => Ok(Some(found)),
            None => Err("the stored result is damaged".to_owned()),
        }
    }

    /// The content of a file of a result. The error says why it cannot be used.
    pub fn content(&self, path: &str, digest: &Digest) -> Result<Vec<u8>, String> {
        match read(&self.file_path(digest)) {
            Ok(bytes) if Digest::of(&bytes) == *digest => Ok(bytes),
            Ok(_) => Err(format!("the stored content of `{path}` was changed")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("the stored content of `{path}` is missing"))
            }
            Err(error) => Err(format!("the stored content of `{path}` cannot be read: {error}")),
        }
    }

    /// Stores the content of a file, before the result that refers to it.
    pub fn put_content(&self, bytes: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(bytes);
        let path = self.file_path(&digest);
        if read(&path).is_ok_and(|found| found == bytes) {
            // Unused content stays for an hour, so the result that is about to use it finds it.
            touch(&path);
        } else {
            write(&path, bytes)?;
            self.limit.added(bytes.len() as u64);
        }
        Ok(digest)
    }

    /// Stores a result, and notes that the step stored it. Removes old results if there are too many.
    pub fn put(&self, result: &Masked<CachedResult>) -> io::Result<()> {
        let bytes = sealed(&serde_json::to_string(&**result)?);
        write(&self.result_path(&result.key), &bytes)?;
        self.limit.added(bytes.len() as u64);
        let origin = &result.origin;
        if let Some(lookup) = self.last_lookup(&origin.definition, &origin.instance) {
            // It was masked when it was stored.
            self.write_lookup(&Lookup { stored: Some(result.key), ..lookup })?;
        }
        self.limit.trim();
        Ok(())
    }

    /// Marks a result as used, so that it is removed later than others.
    pub fn note_use(&self, key: &Digest) {
        touch(&self.result_path(key));
    }

    /// Why no result has this key, compared with what the step stored last.
    pub fn why_missing(&self, key: &CacheKey, definition: &str, instance: &str) -> String {
        let stored = self.last_lookup(definition, instance).and_then(|lookup| lookup.stored);
        let Some(stored) = stored else { return "no result is stored yet".to_owned() };
        match self.find(&stored) {
            Ok(Some(before)) => match difference(&key.parts, &before.parts) {
                Some(text) => format!("{text} since run {}", before.origin.run),
                None => "the stored result was removed".to_owned(),
            },
            Ok(None) => "the stored result was removed".to_owned(),
            Err(why) => why,
        }
    }

    /// The last lookup of a step.
    pub fn last_lookup(&self, definition: &str, instance: &str) -> Option<Lookup> {
        let bytes = read(&self.step_path(definition, instance)).ok()?;
        unsealed(&bytes).and_then(|text| serde_json::from_str(text).ok())
    }

    /// Stores the last lookup of a step.
    pub fn note_lookup(&self, lookup: &Masked<Lookup>) -> io::Result<()> {
        self.write_lookup(lookup)
    }

    fn write_lookup(&self, lookup: &Lookup) -> io::Result<()> {
        let path = self.step_path(&lookup.definition, &lookup.instance);
        write(&path, &sealed(&serde_json::to_string(lookup)?))
    }

    /// All results, those that were used last first. Damaged ones are left out.
    pub fn list(&self) -> Vec<ListedResult> {
        let mut all: Vec<ListedResult> = super::trim::entries(&self.folder.join("results"))
            .filter_map(|found| {
                let bytes = read(&found.path).ok()?;
                let result: CachedResult = read_back(unsealed(&bytes)?).ok()?;
                let files = result.files.iter().filter_map(|file| file.content.as_ref());
                let bytes = found.bytes + files.map(|content| content.bytes).sum::<u64>();
                Some(ListedResult { result, bytes, used_at: found.used_at })
            })
            .collect();
        all.sort_by(|a, b| b.used_at.cmp(&a.used_at).then(a.result.key.cmp(&b.result.key)));
        all
    }

    /// All lookups, the last one first.
    pub fn lookups(&self) -> Vec<Lookup> {
        let mut all: Vec<Lookup> = super::trim::entries(&self.folder.join("steps"))
            .filter_map(|found| serde_json::from_str(unsealed(&read(&found.path).ok()?)?).ok())
            .collect();
        all.sort_by(|a, b| b.at.cmp(&a.at).then(a.instance.cmp(&b.instance)));
        all
    }

    /// Removes the results with these keys, and the content that no result uses any more. Returns the
    /// number of removed bytes.
    pub fn remove(&self, keys: &[Digest]) -> u64 {
        self.limit.remove(keys.iter().map(|key| self.result_path(key)))
    }

    fn result_path(&self, key: &Digest) -> PathBuf {
        by_digest(&self.folder.join("results"), key)
    }

    fn file_path(&self, digest: &Digest) -> PathBuf {
        by_digest(&self.folder.join("files"), digest)
    }

    fn step_path(&self, definition: &str, instance: &str) -> PathBuf {
        let digest = Digest::of(format!("{definition}\0{instance}"));
        by_digest(&self.folder.join("steps"), &digest)
    }
}

fn whole(bytes: Vec<u8>) -> io::Result<[u8; 32]> {
    bytes.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
}
