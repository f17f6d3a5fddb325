//! The rules of recent confinements, so that the commands of one attempt do not open some two hundred
//! paths each.

use super::confinement::{Confinement, Scratch};
use super::rules::Rules;
use crate::BaseEnvironment;
use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// How many rules are kept: more than the specialists that run at the same time, usually.
const KEPT: usize = 16;

/// The rules of recent confinements. Each has a private directory of its attempt, so the paths of a
/// new attempt are opened again.
#[derive(Debug, Default)]
pub(crate) struct RulesCache(Mutex<VecDeque<(Key, Rules)>>);

/// What decides about the rules.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    paths: [Vec<PathBuf>; 3],
    /// Device and inode of the folders that may be written: a folder may be replaced by another.
    folders: Vec<Option<(u64, u64)>>,
    scratch: Option<PathBuf>,
}

impl RulesCache {
    /// The rules of a confinement.
    pub(crate) fn rules(
        &self,
        confinement: &Confinement,
        base: &BaseEnvironment,
        scratch: Option<&Scratch>,
    ) -> io::Result<Rules> {
        let paths = confinement.paths();
        let written = paths[..2].iter().flatten();
        let identity = |path: &PathBuf| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.dev(), found.ino()))
        };
        let folders = written.map(identity).collect();
        let key = Key { paths, folders, scratch: scratch.map(|own| own.temporary.clone()) };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rules)) = kept.iter().find(|(known, _)| *known == key) {
            return rules.try_clone();
        }
        let rules = confinement.rules(base, scratch)?;
        let copy = rules.try_clone()?;
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((key, rules));
        Ok(copy)
    }
}
