//! The rules and mounts of recent confinements, so that not each command opens some two hundred paths.

use super::confinement::{Confinement, Scratch};
use super::mount_plan::MountPlan;
use super::paths;
use super::rules::Rules;
use crate::BaseEnvironment;
use kb_clock as clock;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How many are kept: more than the specialists that run at the same time, usually.
const KEPT: usize = 16;

/// How many commands use the same ruleset: workers add rules to it, for mounts of their own.
const USES: usize = 128;

/// How long the paths that every confinement permits are used before they are looked up again.
const LOOKED_UP: Duration = Duration::from_millis(20);

/// The rules and mounts of recent confinements, each with its private directory.
#[derive(Debug, Default)]
pub(crate) struct RulesCache(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The paths that every confinement permits, and when they were looked up.
    always: Option<(Instant, Arc<Always>)>,
    kept: VecDeque<Kept>,
    /// How many rulesets were asked for.
    made: u64,
}

#[derive(Debug)]
struct Kept {
    key: Key,
    rules: Rules,
    /// The mounts, without what is protected or hidden in them.
    granted: MountPlan,
    /// The protected and the hidden paths of the last confinement, and the texts of its mounts.
    last: Option<(Closed, Arc<[OsString]>)>,
    uses: usize,
}

/// The protected and the hidden paths of a confinement.
type Closed = [Vec<PathBuf>; 2];

/// Device and inode of a path that exists.
type Identity = Option<(u64, u64)>;

/// The paths that every confinement permits.
#[derive(Debug)]
pub(crate) struct Always {
    found: Vec<Identity>,
    real: OnceLock<[Vec<PathBuf>; 2]>,
}

/// What decides about the rules and the mounts.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    paths: [Vec<PathBuf>; 4],
    /// Those of its own paths and of those of every confinement: one may be created, or replaced by another.
    found: Vec<Identity>,
    always: Arc<Always>,
    scratch: Option<PathBuf>,
}

impl PartialEq for Always {
    fn eq(&self, other: &Always) -> bool {
        self.found == other.found
    }
}

impl Eq for Always {}

impl Always {
    /// The real paths of those that are written, and of those that are read.
    pub(super) fn real(&self, base: &BaseEnvironment) -> &[Vec<PathBuf>; 2] {
        let real =
            |paths: Vec<PathBuf>| paths.iter().flat_map(|path| path.canonicalize()).collect();
        self.real.get_or_init(|| [paths::writable(base), paths::readable(base)].map(real))
    }
}

impl RulesCache {
    /// The paths that every confinement permits.
    pub(crate) fn always(&self, base: &BaseEnvironment) -> Arc<Always> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).always(base)
    }

    /// The rules of a confinement, and the texts of its mounts.
    pub(crate) fn rules(
        &self,
        confinement: &Confinement,
        base: &BaseEnvironment,
        scratch: Option<&Scratch>,
        has_overlays: bool,
    ) -> io::Result<(Rules, Arc<[OsString]>)> {
        let paths = confinement.paths();
        let found = paths.iter().flatten().map(|path| identity(path)).collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let always = known.always(base);
        known.made += 1;
        let number = known.made;
        let scratch_path = scratch.map(|own| own.temporary.clone());
        let key = Key { paths, found, always, scratch: scratch_path };
        let kept = &mut known.kept;
        kept.retain(|one| one.uses < USES);
        if let Some(one) = kept.iter_mut().find(|one| one.key == key) {
            one.uses += 1;
            return Ok((one.rules.try_clone()?, one.texts(confinement)));
        }
        let host = confinement.real_paths(base);
        let mut granted = confinement.granted_mounts(base, scratch, (host, has_overlays));
        granted.number_rules(number);
        let rules = confinement.rules(base, scratch, &mut granted)?;
        let mut one = Kept { key, rules, granted, last: None, uses: 1 };
        let answer = (one.rules.try_clone()?, one.texts(confinement));
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(one);
        Ok(answer)
    }
}

impl Kept {
    /// The texts of the mounts. Consecutive commands usually protect and hide the same paths.
    fn texts(&mut self, confinement: &Confinement) -> Arc<[OsString]> {
        let closed = confinement.closed();
        match &self.last {
            Some((known, texts)) if *known == closed => texts.clone(),
            _ => {
                let texts: Arc<[OsString]> = confinement.mounts(self.granted.clone()).into();
                self.last = Some((closed, texts.clone()));
                texts
            }
        }
    }
}

impl Known {
    fn always(&mut self, base: &BaseEnvironment) -> Arc<Always> {
        let now = clock::instant();
        match &self.always {
            Some((read, always)) if now.duration_since(*read) < LOOKED_UP => always.clone(),
            _ => {
                let paths = paths::mounted(base).into_iter().chain(paths::writable(base));
                let found = paths.map(|path| identity(&path)).collect();
                let always = Arc::new(Always { found, real: OnceLock::new() });
                self.always = Some((now, Arc::clone(&always)));
                always
            }
        }
    }
}

fn identity(path: &Path) -> Identity {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
