//! `cache:`: a step that takes its result from an earlier execution with the same key.

use crate::expression::{Reference, Template};
use std::time::Duration;

/// `cache:` of a step.
#[derive(Debug, Clone)]
pub struct Cache {
    /// `key:`: a text that is a part of the key. Without `inputs`, it stands for the files that the
    /// step reads.
    pub key: Option<Template>,
    /// `inputs:`: globs of the files that the step reads. `None`: see [`Cache::key`].
    pub inputs: Option<Vec<Template>>,
    /// `outputs:`: globs of ignored files that belong to the result.
    pub outputs: Vec<Template>,
    /// `ttl:`: the age from which a stored result is not used.
    pub ttl: Option<Duration>,
    /// `scope:`: which steps share results.
    pub scope: CacheScope,
}

impl Cache {
    /// `cache: true`.
    pub(crate) const DEFAULT: Cache = Cache {
        key: None,
        inputs: None,
        outputs: Vec::new(),
        ttl: None,
        scope: CacheScope::Project,
    };

    /// The references in its texts.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.key
            .iter()
            .chain(self.inputs.iter().flatten())
            .chain(&self.outputs)
            .flat_map(Template::references)
    }
}

/// `scope` of `cache`: which steps share results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheScope {
    /// All steps of the project that do the same.
    #[default]
    Project,
    /// The same step of the same playbook.
    Step,
    /// The steps of one run and of its child runs.
    Run,
}
