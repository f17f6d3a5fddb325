//! Takes a stored result: checks its age, puts its files back, and makes the outcome of the attempt.

use crate::cache::{CacheKey, CachedResult, ResultCache};
use crate::executor::host_access::HostAccess;
use kb_attempt::{CacheRequest, Outcome};
use kb_base::value::{InstanceKey, Json, format_duration};
use kb_core::evidence::CacheHit;

/// What a lookup found.
pub(super) enum Found {
    Hit(Box<Restored>),
    Miss(String),
}

/// A result whose files are in the workspace.
pub(super) struct Restored {
    pub(super) hit: CacheHit,
    pub(super) outcome: Outcome,
}

/// Finds and restores a result. Blocks.
pub(super) fn take(
    results: &ResultCache,
    host: &HostAccess,
    asked: &CacheRequest,
    key: &CacheKey,
    instance: &InstanceKey,
) -> Found {
    let found = match results.find(&key.digest) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let instance = instance.to_string();
            return Found::Miss(results.why_missing(key, &asked.definition, &instance));
        }
        Err(why) => return Found::Miss(why),
    };
    if let Some(ttl) = asked.ttl {
        let age = host.clock.now().since(found.origin.at);
        if age >= ttl {
            let (run, limit) = (&found.origin.run, format_duration(ttl));
            return Found::Miss(format!("the result of run {run} is older than {limit} (`ttl`)"));
        }
    }
    match restore(results, host, &found) {
        Ok(restored) => {
            results.note_use(&key.digest);
            Found::Hit(Box::new(Restored { hit: hit(&found, restored), outcome: outcome(found) }))
        }
        Err(why) => Found::Miss(why),
    }
}

/// Puts the files of a result back. All contents are read first, so that a missing one changes nothing.
fn restore(
    results: &ResultCache,
    host: &HostAccess,
    found: &CachedResult,
) -> Result<Vec<String>, String> {
    let mut contents = Vec::with_capacity(found.files.len());
    for file in &found.files {
        let content = file.content.as_ref();
        let bytes = content.map(|content| results.content(&file.path, &content.digest));
        contents.push((file, content.map(|content| content.mode).zip(bytes.transpose()?)));
    }
    let mut restored = Vec::new();
    for (file, content) in contents {
        let path = &file.path;
        let changed = match content {
            Some((mode, bytes)) => host.workspace.put_file(path, &bytes, mode),
            None => host.workspace.remove_file(path),
        };
        let changed =
            changed.map_err(|error| format!("`{path}` could not be restored: {error}"))?;
        if changed {
            restored.push(path.clone());
        }
    }
    Ok(restored)
}

fn hit(found: &CachedResult, restored: Vec<String>) -> CacheHit {
    let origin = &found.origin;
    CacheHit {
        key: found.key,
        run: origin.run.clone(),
        instance: origin.instance.clone(),
        at: origin.at,
        usage: found.usage,
        duration_ms: found.duration_ms,
        files: found.files.len() as u32,
        restored,
        kept: false,
        trace: found.trace.clone(),
    }
}

fn outcome(found: CachedResult) -> Outcome {
    let CachedResult { output, exit_code, stdout, stderr, cut, handoff, .. } = found;
    let output = Some(output);
    Outcome { output, exit_code, stdout, stderr, cut, handoff, ..Outcome::ok(Json::Null) }
}
