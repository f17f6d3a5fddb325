//! The rules and mounts of recent confinements, so that not each command opens some two hundred paths.

use super::confinement::{Confinement, Scratch};
use super::mount_plan::MountPlan;
use super::paths;
use super::rules::Rules;
use crate::BaseEnvironment;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// How many are kept: more than the specialists that run at the same time, usually.
const KEPT: usize = 16;

/// The rules and mounts of recent confinements, each with its private directory.
#[derive(Debug, Default)]
pub(crate) struct RulesCache(Mutex<VecDeque<(Key, Rules, MountPlan)>>);

/// What decides about the rules and the mounts.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    paths: [Vec<PathBuf>; 3],
    /// Device and inode of the paths of the confinement and of those of every confinement: one may be created, or
    /// replaced by another.
    found: Vec<Option<(u64, u64)>>,
    scratch: Option<PathBuf>,
}

impl RulesCache {
    /// The rules of a confinement, and the texts of its mounts.
    pub(crate) fn rules(
        &self,
        confinement: &Confinement,
        base: &BaseEnvironment,
        scratch: Option<&Scratch>,
    ) -> io::Result<(Rules, Vec<OsString>)> {
        let paths = confinement.paths();
        let identity = |path: &PathBuf| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.dev(), found.ino()))
        };
        let always = paths::mounted(base).into_iter().chain(paths::writable(base));
        let own = paths.iter().flatten().map(identity);
        let found = own.chain(always.map(|path| identity(&path))).collect();
        let key = Key { paths, found, scratch: scratch.map(|own| own.temporary.clone()) };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rules, granted)) = kept.iter().find(|(known, ..)| *known == key) {
            return Ok((rules.try_clone()?, confinement.mounts(granted.clone())));
        }
        let rules = confinement.rules(base, scratch)?;
        let granted = confinement.granted_mounts(base, scratch);
        let answer = (rules.try_clone()?, confinement.mounts(granted.clone()));
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((key, rules, granted));
        Ok(answer)
    }
}
