//! Steps with `cache`: an attempt takes a stored result in place of its work, or does the work and stores
//! its result once the step has succeeded.
//!
//! The key is computed from what the step would do and from the files that it reads (`key`). A hit puts
//! the files back, and the gate judges the restored state again (`take`). A result waits in memory until
//! the engine says that the step succeeded, so failures and refuted results are never stored (`keep`).

mod keep;
mod key;
mod overlap;
mod recording;
mod step_cache;
mod take;

pub use step_cache::{CacheOptions, StepCache};

use super::host_access::HostAccess;
use super::lease::lease_lost;
use crate::cache::{CacheKey, Lookup, LookupResult};
use kb_attempt::{CacheRequest, Context, FileUse, Outcome, Request};
use kb_base::value::OutcomeKind;
use kb_clock as clock;
use kb_core::evidence::{Note, Record};
use recording::Recording;
use std::sync::Arc;
use take::Found;

/// Executes an attempt: with a stored result, or with `work`, whose result is stored later.
pub(super) async fn execute<F>(
    cache: &Arc<StepCache>,
    host: &HostAccess,
    request: Request,
    context: Context,
    work: impl FnOnce(Request, Context) -> F,
) -> Outcome
where
    F: Future<Output = Outcome>,
{
    let overlap = can_write(&request).then(|| cache.overlap.begin());
    let asked = request.cache.as_deref().filter(|_| !cache.options.off).cloned();
    let Some(asked) = asked else { return work(request, context).await };
    let confined = request.confined.now();
    let key = match key::of(cache, host, &request, &asked).await {
        Ok(key) => key,
        Err(why) => {
            let note = Note::warning(format!("not in the cache: {why}"));
            return match context.recorder.record(Record::Note(note)).await {
                Ok(()) => work(request, context).await,
                Err(_) => lease_lost(),
            };
        }
    };
    let recorded = match look_up(cache, host, &request, &asked, &key).await {
        Found::Hit(restored) => {
            if context.recorder.record(Record::CacheHit(Box::new(restored.hit))).await.is_err() {
                return lease_lost();
            }
            return restored.outcome;
        }
        Found::Miss(reason) => {
            let note = Note::info(format!("not from the cache: {reason}"));
            context.recorder.record(Record::Note(note)).await
        }
    };
    if recorded.is_err() {
        return lease_lost();
    }
    let recording = Arc::new(Recording::of(context.recorder.clone()));
    let own = Context { recorder: recording.clone(), ..context.clone() };
    let started = clock::instant();
    let outcome = work(request.clone(), own).await;
    if outcome.kind != OutcomeKind::Ok || outcome.asks.is_some() || outcome.waits.is_some() {
        return outcome;
    }
    let made = keep::CacheCandidate {
        asked,
        key,
        outcome: outcome.clone(),
        trace: recording.calls(),
        duration_ms: started.elapsed().as_millis() as u64,
        alone: overlap.is_none_or(|own| own.was_alone()),
    };
    let kept = if request.confined.now() != confined {
        Err("another step could write while it executed".to_owned())
    } else if recording.has_exchanged() {
        Err("it used channels or the blackboard, which other steps of its run read and write"
            .to_owned())
    } else {
        keep::prepare(cache, host, &request, made).await
    };
    let note = match kept {
        Ok(()) => return outcome,
        Err(why) => Note::warning(format!("the result is not stored in the cache: {why}")),
    };
    match context.recorder.record(Record::Note(note)).await {
        Ok(()) => outcome,
        Err(_) => lease_lost(),
    }
}

/// Whether the work can change files of the project.
fn can_write(request: &Request) -> bool {
    match request.work.file_use() {
        FileUse::Nothing => false,
        FileUse::Everything { writes } => writes,
        FileUse::Tool(tool) => tool.writes || tool.runs_processes,
    }
}

/// Looks a result up, restores its files, and remembers what was asked and found.
async fn look_up(
    cache: &Arc<StepCache>,
    host: &HostAccess,
    request: &Request,
    asked: &CacheRequest,
    key: &CacheKey,
) -> Found {
    let (cache, host, key) = (cache.clone(), host.clone(), key.clone());
    let (asked, instance, run) = (asked.clone(), request.instance.clone(), request.run.clone());
    let work = move || {
        let found = if cache.is_refreshed(&instance) {
            Found::Miss("`--refresh` asks for a new result".to_owned())
        } else if asked.may_take {
            take::take(&cache.results, &host, &asked, &key, &instance)
        } else {
            Found::Miss("a later attempt or iteration does its work".to_owned())
        };
        let result = match &found {
            Found::Hit(_) => LookupResult::Hit,
            Found::Miss(reason) => LookupResult::Miss { reason: reason.clone() },
        };
        let (definition, instance) = (asked.definition.clone(), instance.to_string());
        let last = cache.results.last_lookup(&definition, &instance);
        let before = last.and_then(|lookup| lookup.stored);
        let stored = match &found {
            Found::Hit(_) => Some(key.digest),
            Found::Miss(_) => before,
        };
        let CacheKey { digest: key, parts } = key;
        let at = host.clock.now();
        let lookup = Lookup { definition, instance, run, at, key, result, parts, before, stored };
        // Without this record a later miss is explained less well.
        let _ = cache.results.note_lookup(&host.redactor.mask(lookup));
        found
    };
    let none = || Found::Miss("the cache could not be read".to_owned());
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| none())
}
