//! [`StepCache`]: the stored results that the steps of a run use, and those that wait for the end of their
//! steps.

use super::overlap::Overlap;
use crate::cache::{CachedResult, ResultCache};
use kb_base::value::{InstanceKey, RunId};
use kb_core::redaction::Masked;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// How the steps of a run use stored results.
pub struct StepCache {
    pub(super) results: Arc<ResultCache>,
    pub(super) options: CacheOptions,
    /// Results of attempts whose steps have not ended.
    open: Mutex<BTreeMap<(RunId, InstanceKey), Masked<CachedResult>>>,
    pub(super) overlap: Overlap,
}

/// The parts of every key that are the same for a whole run, and what the user asked for.
#[derive(Debug, Clone, Default)]
pub struct CacheOptions {
    /// Whether no stored result is taken and none is stored (`--no-cache`).
    pub off: bool,
    /// Steps that do their work and store its result (`--refresh`).
    pub refresh: BTreeSet<String>,
    /// What answers model calls: the digest of a script, or the configured models without keys.
    pub models: String,
    /// The variables that processes inherit by `env.pass` of the settings.
    pub passed: Vec<(String, String)>,
}

impl StepCache {
    /// The use of these results in a run.
    pub fn new(results: Arc<ResultCache>, options: CacheOptions) -> StepCache {
        StepCache { results, options, open: Mutex::default(), overlap: Overlap::default() }
    }

    /// Keeps a result until its step ends.
    pub(super) fn hold(&self, run: RunId, instance: InstanceKey, result: Masked<CachedResult>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert((run, instance), result);
    }

    /// The step ended in this pass; stores its result if it succeeded.
    pub(in crate::executor) fn ended(&self, run: &RunId, instance: &InstanceKey, succeeded: bool) {
        let open = || self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let result = open().remove(&(run.clone(), instance.clone()));
        if let Some(result) = result.filter(|_| succeeded)
            && let Err(error) = self.results.put(&result)
        {
            // The next execution of the step does its work, as if there were no cache.
            tracing::warn!(%instance, %error, "the result could not be stored in the cache");
        }
    }

    pub(super) fn is_refreshed(&self, instance: &InstanceKey) -> bool {
        let refresh = &self.options.refresh;
        refresh.contains(instance.step.as_str()) || refresh.contains(&instance.to_string())
    }
}
