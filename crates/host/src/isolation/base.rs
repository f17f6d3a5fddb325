//! What a tree contained at first, and small files of the folder of trees.

use super::print::Print;
use crate::workspace::Folders;
use kb_base::value::Digest;
use kb_core::evidence::Manifest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// What a tree contained at first, as stored beside it. A tree without it is not complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Base {
    /// The step or item, such as `implement[src/a.rs]`.
    pub(super) instance: String,
    /// Whether it is a git worktree.
    pub(super) worktree: bool,
    /// Whether its changes are not to be merged.
    #[serde(default)]
    pub(super) stays: bool,
    /// The commit of a worktree.
    pub(super) commit: Option<String>,
    /// The files that the ignore rules leave, with digests.
    pub(super) files: Manifest,
    /// The folders that the ignore rules leave.
    #[serde(default)]
    pub(super) folders: BTreeSet<String>,
}

impl Base {
    /// What was at a path.
    pub(super) fn print(&self, path: &str) -> Print {
        match self.files.files.get(path) {
            None if self.folders.contains(path) => Print::Folder,
            state => Print::of(state),
        }
    }

    /// The folders that were removed, and those that were made and are empty: the others come with their files.
    pub(super) fn changed_folders(&self, now: &Folders) -> BTreeSet<String> {
        let removed = self.folders.difference(&now.all);
        removed.chain(now.empty.difference(&self.folders)).cloned().collect()
    }
}

/// The paths that belong to one tree.
#[derive(Debug, Clone)]
pub(super) struct TreePaths {
    /// The folder of the run.
    pub(super) run: PathBuf,
    name: String,
}

impl TreePaths {
    pub(super) fn new(run: PathBuf, name: String) -> TreePaths {
        TreePaths { run, name }
    }

    /// The files of the step.
    pub(super) fn files(&self) -> PathBuf {
        self.run.join(&self.name)
    }

    pub(super) fn base(&self) -> PathBuf {
        self.run.join(format!("{}.json", self.name))
    }

    pub(super) fn plan(&self) -> PathBuf {
        self.run.join(format!("{}.plan.json", self.name))
    }

    pub(super) fn rebased(&self) -> PathBuf {
        self.run.join(format!("{}.rebased.json", self.name))
    }

    pub(super) fn merged(&self) -> PathBuf {
        self.run.join(format!("{}.merged.json", self.name))
    }

    /// The content at first of a small file.
    pub(super) fn content(&self, digest: &Digest) -> PathBuf {
        self.run.join("base").join(digest.to_string().replace(':', "-"))
    }
}

/// Reads a JSON file that [`write_json`] wrote; `None` if it does not exist.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|e| Error::new(ErrorKind::InvalidData, e)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a JSON file whole or not at all.
pub(super) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    write_whole(path, &serde_json::to_vec(value).map_err(Error::other)?)
}

/// Writes a file whole or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = std::fs::File::create(&beside)?;
    file.write_all(bytes)?;
    std::fs::rename(&beside, path)
}
