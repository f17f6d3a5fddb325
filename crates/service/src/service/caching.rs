//! The stored results of a project as use cases: list, show, clear.

use super::runs::{ProjectContext, results};
use super::{Environment, Project, ResourceKind, ServiceError};
use kb_base::value::Digest;
use kb_host::cache::{CachedResult, KeyPart, ListedResult, Lookup, LookupResult, ResultCache};
use serde::Serialize;
use std::collections::BTreeMap;

/// A stored result, in a list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedView {
    /// Digest of the key.
    pub key: String,
    /// Id of the playbook or workflow of the step that made it.
    pub definition: String,
    /// Name of the step instance that made it.
    pub instance: String,
    /// Id of the run that made it.
    pub run: String,
    /// Time at which it was stored, in RFC 3339.
    pub stored_at: String,
    /// Time of its last use, in RFC 3339.
    pub used_at: String,
    /// Number of its files.
    pub files: usize,
    /// Size with its files in bytes.
    pub bytes: u64,
    /// Duration of the attempt that made it, in milliseconds.
    pub saved_ms: u64,
}

/// A part of a key, compared with the result that the step stored last.
#[derive(Debug, Clone, Serialize)]
pub struct PartView {
    /// What it covers: `command`, `file src/a.rs`, …
    pub name: String,
    /// How it differs.
    pub state: PartState,
    /// The start of its value, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The start of the earlier value, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// How a part of a key differs from that of the earlier key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartState {
    /// Both keys have this value.
    Same,
    /// The earlier key has another value.
    Changed,
    /// The earlier key has no such part.
    New,
    /// Only the earlier key has it.
    Gone,
}

impl PartState {
    /// The name, as in `--json`.
    pub fn as_str(self) -> &'static str {
        match self {
            PartState::Same => "same",
            PartState::Changed => "changed",
            PartState::New => "new",
            PartState::Gone => "gone",
        }
    }
}

/// What `kb cache show` shows: the last lookup of a step, a stored result, or both.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheSheet {
    /// The last lookup of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookup: Option<LookupView>,
    /// The result: that of the key, or the one that the step had stored before the lookup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<CachedResult>,
    /// The parts of the key of the lookup, compared with the result; without a lookup, of the result.
    pub parts: Vec<PartView>,
}

/// The last lookup of a step.
#[derive(Debug, Clone, Serialize)]
pub struct LookupView {
    /// Id of the playbook or workflow.
    pub definition: String,
    /// Name of the step instance.
    pub instance: String,
    /// Id of the run that asked.
    pub run: String,
    /// Time of the lookup, in RFC 3339.
    pub at: String,
    /// Digest of the key.
    pub key: String,
    /// Why the step was executed; nothing if a stored result was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<String>,
}

/// What was removed.
#[derive(Debug, Clone, Serialize)]
pub struct Cleared {
    /// Number of results.
    pub results: usize,
    /// Size in bytes.
    pub bytes: u64,
}

fn opened(environment: &Environment) -> Result<ResultCache, ServiceError> {
    let project = Project::find(environment)?;
    Ok(results(&project.context, &project.catalog.settings))
}

/// The stored results, those that were used last first.
pub fn list_cached(environment: &Environment) -> Result<Vec<CachedView>, ServiceError> {
    // The settings do not matter for a list, so broken ones do not hide it.
    let context = ProjectContext::find(environment)?;
    let cache = ResultCache::new(&context.state_dir, u64::MAX, context.clock().clone());
    Ok(cache.list().iter().map(view).collect())
}

fn view(listed: &ListedResult) -> CachedView {
    let CachedResult { key, origin, files, duration_ms, .. } = &listed.result;
    CachedView {
        key: key.to_string(),
        definition: origin.definition.clone(),
        instance: origin.instance.clone(),
        run: origin.run.to_string(),
        stored_at: origin.at.rfc3339(),
        used_at: listed.used_at.rfc3339(),
        files: files.len(),
        bytes: listed.bytes,
        saved_ms: *duration_ms,
    }
}

/// One result by its key or the start of it, or a step by `STEP`, `STEP[ITEM]` or `PLAYBOOK/STEP`: what
/// its last execution asked for, and why it was not in the cache.
pub fn show_cached(environment: &Environment, name: &str) -> Result<CacheSheet, ServiceError> {
    let cache = opened(environment)?;
    if let Some(lookup) = cache.lookups().into_iter().find(|lookup| is_step(lookup, name)) {
        let earlier = match lookup.result {
            LookupResult::Hit => Some(lookup.key),
            LookupResult::Miss { .. } => lookup.before,
        };
        let result = earlier.and_then(|key| cache.find(&key).ok().flatten());
        let before = result.as_ref().map(|result| result.parts.as_slice());
        let parts = compared(&lookup.parts, before);
        return Ok(CacheSheet { lookup: Some(looked_up(lookup)), result, parts });
    }
    match select(&cache, name)?.as_slice() {
        [only] => {
            let result = only.result.clone();
            let parts = compared(&result.parts, None);
            Ok(CacheSheet { lookup: None, result: Some(result), parts })
        }
        _ => Err(unknown(&cache, name)),
    }
}

/// Removes stored results: those of these steps and keys, or all.
pub fn clear_cache(environment: &Environment, names: &[String]) -> Result<Cleared, ServiceError> {
    let cache = opened(environment)?;
    let mut keys: Vec<Digest> = Vec::new();
    for name in names {
        let found = select(&cache, name)?;
        if found.is_empty() {
            return Err(unknown(&cache, name));
        }
        keys.extend(found.iter().map(|listed| listed.result.key));
    }
    if names.is_empty() {
        keys.extend(cache.list().iter().map(|listed| listed.result.key));
    }
    keys.sort();
    keys.dedup();
    Ok(Cleared { results: keys.len(), bytes: cache.remove(&keys) })
}

/// The results of a step, or the only one whose key starts with this text.
fn select(cache: &ResultCache, name: &str) -> Result<Vec<ListedResult>, ServiceError> {
    let all = cache.list();
    let of_step = |listed: &&ListedResult| {
        let origin = &listed.result.origin;
        names_step(&origin.definition, &origin.instance, name)
    };
    let found: Vec<ListedResult> = all.iter().filter(of_step).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let by_key = |listed: &ListedResult| listed.result.key.to_string().starts_with(name);
    let found: Vec<ListedResult> =
        all.into_iter().filter(|listed| name.len() >= 4 && by_key(listed)).collect();
    match found.len() {
        0 | 1 => Ok(found),
        _ => Err(unknown(cache, name)),
    }
}

fn unknown(cache: &ResultCache, name: &str) -> ServiceError {
    let step = |lookup: Lookup| format!("{}/{}", lookup.definition, lookup.instance);
    ServiceError::unknown(ResourceKind::Cached, name, cache.lookups().into_iter().map(step))
}

fn is_step(lookup: &Lookup, name: &str) -> bool {
    names_step(&lookup.definition, &lookup.instance, name)
}

fn names_step(definition: &str, instance: &str, name: &str) -> bool {
    let own = name.strip_prefix(definition).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
    own == instance || instance.split('[').next() == Some(own)
}

fn looked_up(lookup: Lookup) -> LookupView {
    let Lookup { definition, instance, run, at, key, result, .. } = lookup;
    LookupView {
        definition,
        instance,
        run: run.to_string(),
        at: at.rfc3339(),
        key: key.to_string(),
        missed: result.reason(),
    }
}

/// The parts of a key, beside those of an earlier one.
fn compared(now: &[KeyPart], before: Option<&[KeyPart]>) -> Vec<PartView> {
    let earlier: BTreeMap<&str, &KeyPart> =
        before.unwrap_or(now).iter().map(|part| (&*part.name, part)).collect();
    let mut views: Vec<PartView> = Vec::with_capacity(now.len());
    for part in now {
        let (state, before) = match earlier.get(&*part.name) {
            None => (PartState::New, None),
            Some(old) if old.digest == part.digest => (PartState::Same, None),
            Some(old) => (PartState::Changed, old.shown.clone()),
        };
        views.push(PartView { name: part.name.clone(), state, value: part.shown.clone(), before });
    }
    for old in before.unwrap_or_default() {
        if !now.iter().any(|part| part.name == old.name) {
            let (name, before) = (old.name.clone(), old.shown.clone());
            views.push(PartView { name, state: PartState::Gone, value: None, before });
        }
    }
    views
}
