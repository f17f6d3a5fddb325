//! Prepares the result of an attempt: its output, its calls and its files. It is stored when the step
//! has succeeded.

use super::step_cache::StepCache;
use crate::cache::{CacheKey, CachedContent, CachedFile, CachedOrigin, CachedResult, ResultCache};
use crate::executor::host_access::HostAccess;
use kb_attempt::{CacheRequest, Outcome, Request};
use kb_base::value::{Digest, Json};
use kb_core::evidence::{Change, FileKind, FileState, Invocation, Purpose};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum size of the recorded calls of a result, in bytes.
const TRACE_BYTES: usize = 1 << 20;
/// Maximum size of all files of a result, in bytes.
const FILES_BYTES: u64 = 512 << 20;

/// What an attempt made.
pub(super) struct CacheCandidate {
    pub(super) asked: CacheRequest,
    pub(super) key: CacheKey,
    pub(super) outcome: Outcome,
    pub(super) trace: Vec<Invocation>,
    pub(super) duration_ms: u64,
    /// Whether no other attempt of the run executed meanwhile.
    pub(super) alone: bool,
}

/// Stores the files of a result, and keeps the result until the step ends. The error says why it cannot
/// be stored.
pub(super) async fn prepare(
    cache: &Arc<StepCache>,
    host: &HostAccess,
    request: &Request,
    made: CacheCandidate,
) -> Result<(), String> {
    let (cache, host) = (cache.clone(), host.clone());
    let (run, instance) = (request.run.clone(), request.instance.clone());
    let work = move || {
        let files = files(&cache.results, &host, &made)?;
        let CacheCandidate {
            asked,
            key: CacheKey { digest: key, parts },
            outcome,
            trace,
            duration_ms,
            ..
        } = made;
        let at = host.clock.now();
        let origin = CachedOrigin {
            run: run.clone(),
            definition: asked.definition,
            instance: instance.to_string(),
            at,
        };
        let usage = outcome.usage;
        let masked = host.redactor.mask(outcome).into_inner();
        let Outcome { output, exit_code, stdout, stderr, cut, handoff, .. } = masked;
        let output = output.unwrap_or(Json::Null);
        let result = CachedResult {
            key,
            parts,
            origin,
            duration_ms,
            usage,
            output,
            exit_code,
            stdout,
            stderr,
            cut,
            handoff,
            trace,
            files,
        };
        cache.hold(run, instance, host.redactor.mask(result));
        Ok(())
    };
    let stopped = || Err("its files could not be read".to_owned());
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| stopped())
}

/// The files that belong to the result. Their contents are stored now, because a later step may change
/// them before the step ends.
fn files(
    results: &ResultCache,
    host: &HostAccess,
    made: &CacheCandidate,
) -> Result<Vec<CachedFile>, String> {
    let trace = serde_json::to_string(&made.trace).map_or(0, |text| text.len());
    if trace > TRACE_BYTES {
        return Err("its recorded calls are too large".to_owned());
    }
    let changes = net_changes(&made.trace);
    let mut room = FILES_BYTES;
    let mut found = Vec::new();
    if !made.asked.outputs.is_empty() {
        let paths = host.workspace.matching_all(&made.asked.outputs);
        for path in paths.map_err(|error| error.to_string())? {
            found.push(content(results, host, &path, None, &mut room)?);
        }
        let removed = changes.iter().filter(|(path, (_, after))| {
            after.is_none() && !found.iter().any(|file| file.path == **path)
        });
        let removed: Vec<CachedFile> = removed.map(|(path, _)| gone(path)).collect();
        found.extend(removed);
        return Ok(found);
    }
    let watched = |call: &Invocation| call.process.is_some() && !call.changes.is_empty();
    if !made.alone && made.trace.iter().any(watched) {
        return Err("another step ran at the same time, and changed files may be its own; \
                    declare `cache: {outputs: [...]}`"
            .to_owned());
    }
    let truncated =
        |call: &Invocation| call.process.as_ref().is_some_and(|process| process.manifest_truncated);
    if made.trace.iter().any(truncated) {
        return Err("the project has too many files to see all changes; declare \
                    `cache: {outputs: [...]}`"
            .to_owned());
    }
    for (path, (before, after)) in changes {
        match after {
            Some(after) => found.push(content(results, host, path, Some(after), &mut room)?),
            None if before.is_some() => found.push(gone(path)),
            None => {}
        }
    }
    Ok(found)
}

fn gone(path: &str) -> CachedFile {
    CachedFile { path: path.to_owned(), content: None }
}

/// The state of each changed path before the first and after the last call of the attempt.
type NetChanges<'t> = BTreeMap<&'t str, (Option<&'t FileState>, Option<&'t FileState>)>;

fn net_changes(trace: &[Invocation]) -> NetChanges<'_> {
    let work = trace.iter().filter(|call| call.purpose == Purpose::Execution);
    let mut changes = NetChanges::new();
    for Change { path, before, after, .. } in work.flat_map(|call| &call.changes) {
        let entry = changes.entry(path).or_insert((before.as_ref(), None));
        entry.1 = after.as_ref();
    }
    changes
}

/// Stores the content of a file, if it is what the attempt left.
fn content(
    results: &ResultCache,
    host: &HostAccess,
    path: &str,
    recorded: Option<&FileState>,
    room: &mut u64,
) -> Result<CachedFile, String> {
    let state = host.workspace.symlink_stat(path).map_err(|error| error.to_string())?;
    let Some(state) = state else { return Err(format!("`{path}` was removed meanwhile")) };
    if state.kind != FileKind::File {
        return Err(format!("`{path}` is not a regular file"));
    }
    if host.workspace.is_protected(path) {
        return Err(format!("`{path}` is protected and could not be restored"));
    }
    *room = room.checked_sub(state.size).ok_or_else(|| {
        format!("its files have more than {} MiB; exclude some of `outputs`", FILES_BYTES >> 20)
    })?;
    let bytes = host.workspace.read_file(path).map_err(|error| error.to_string())?;
    let expected = recorded.and_then(|state| state.sha256);
    if expected.is_some_and(|expected| expected != Digest::of(&bytes)) {
        return Err(format!("`{path}` was changed after the step ended"));
    }
    if let Some(secret) = host.redactor.written_in(&String::from_utf8_lossy(&bytes)) {
        return Err(format!("`{path}` contains the secret `{secret}`"));
    }
    let digest = results.put_content(&bytes).map_err(|error| error.to_string())?;
    let content = CachedContent { digest, bytes: bytes.len() as u64, mode: state.mode & 0o777 };
    Ok(CachedFile { path: path.to_owned(), content: Some(content) })
}
