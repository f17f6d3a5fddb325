//! A stamp that changes when a definition file of a project changes.

use super::ProjectFolder;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Maximum depth of folders of definitions.
const DEPTH: u32 = 9;

impl ProjectFolder {
    /// A number from the names, sizes and times of all files that can be definitions. Reads no file.
    pub fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for folder in [".kb", "playbooks", "workflows", "agents"] {
            add(&self.root().join(folder), DEPTH, &mut hasher);
        }
        hasher.finish()
    }

    /// A number from the sizes and times of these files, whose paths are relative to the root. Reads no file.
    pub fn stamp_of<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> u64 {
        let mut hasher = DefaultHasher::new();
        paths.into_iter().for_each(|path| add_file(&self.root().join(path), &mut hasher));
        hasher.finish()
    }
}

/// The file that a link leads to is what is read.
fn add_file(path: &Path, hasher: &mut DefaultHasher) {
    path.hash(hasher);
    if let Ok(found) = fs::metadata(path) {
        (found.size(), found.mtime(), found.mtime_nsec(), found.ino()).hash(hasher);
    }
}

fn add(folder: &Path, depth: u32, hasher: &mut DefaultHasher) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        path.hash(hasher);
        if !found.is_dir() {
            (found.size(), found.mtime(), found.mtime_nsec(), found.ino()).hash(hasher);
        } else if depth > 0 {
            add(&path, depth - 1, hasher);
        }
    }
}
