//! `concurrency:` of a playbook: runs of a group that must not execute at the same time.

use crate::service::ServiceError;
use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, JsonMap, RunId};
use kb_engine::journal::{Journal, LockCycle, LockRequest};
use kb_language::definition::{ConflictPolicy, Playbook};
use kb_language::expression::{Root, Scope};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_millis(250);
/// Reads of the queue from one search for requests that wait for each other to the next: about a second.
const CYCLE_ROUNDS: u32 = 8;

/// The runs and steps that a child run is a part of.
#[derive(Debug, Default)]
pub(super) struct Above {
    /// The runs, the nearest first.
    pub(super) runs: Vec<RunId>,
    /// Those runs, and the steps that execute the next one below them: `RUN`, `RUN/STEP`.
    pub(super) units: Vec<String>,
}

/// Receives a human-readable text while a run waits for its concurrency group.
#[derive(Clone)]
pub struct WaitNotice(pub Arc<dyn Fn(&str) + Send + Sync>);

impl Default for WaitNotice {
    fn default() -> Self {
        WaitNotice(Arc::new(|text| tracing::info!("{text}")))
    }
}

impl std::fmt::Debug for WaitNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WaitNotice")
    }
}

/// The parameters of a run, as the name of its group reads them.
struct Params<'p>(&'p JsonMap);

impl Scope for Params<'_> {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        let value = match root {
            Root::Param(name) => self.0.get(&**name)?,
            Root::Params => return self.0.get(field?).cloned().map(Arc::new),
            _ => return None,
        };
        match field {
            Some(field) => value.get(field).cloned().map(Arc::new),
            None => Some(Arc::new(value.clone())),
        }
    }
}

/// Enters the concurrency group of a playbook, if it has one, and waits until no earlier run of the group
/// executes. A child run cannot wait for one of the runs above it, which wait for its end, nor for a run that waits for
/// one of them. The run is in the group until the result is dropped, or its process ends.
pub(super) async fn enter(
    playbook: &Playbook,
    params: &JsonMap,
    run: &RunId,
    journal: &dyn Journal,
    notice: &WaitNotice,
    above: &Above,
) -> Result<Option<LockRequest>, ServiceError> {
    let Some(concurrency) = &playbook.concurrency else { return Ok(None) };
    let Some(locks) = journal.named_locks() else { return Ok(None) };
    let group = match &concurrency.group {
        Some(group) => group.render(&Params(params)).map_err(|failure| {
            let message = format!("the name of the concurrency group: {}", failure.message);
            ServiceError::refused(Failure { message, ..*failure })
        })?,
        None => playbook.id.to_string(),
    };
    let mut request =
        run_blocking(|| locks.request(&format!("group/{group}"), run.as_str(), run.as_str()))?;
    let (mut pause, mut told) = (FIRST_PAUSE, None);
    // A run that cancels the other one does not wait for what that one waits for.
    let waits = concurrency.on_conflict == ConflictPolicy::Queue && !above.runs.is_empty();
    for round in 1_u32.. {
        let queue = run_blocking(|| request.queue())?;
        let Some(owner) = queue.before.first() else { return Ok(Some(request)) };
        if above.runs.iter().any(|run| run.as_str() == owner) {
            return Err(held_above(&group, owner));
        }
        match concurrency.on_conflict {
            ConflictPolicy::Skip => return Err(busy(&group, owner, "onConflict: skip")),
            ConflictPolicy::CancelRunning if queue.is_followed => {
                return Err(busy(&group, "a newer run", "onConflict: cancelRunning"));
            }
            ConflictPolicy::CancelRunning | ConflictPolicy::Queue => {}
        }
        if told.as_ref() != Some(owner) {
            let cancels = concurrency.on_conflict == ConflictPolicy::CancelRunning;
            if cancels {
                cancel(journal, owner, run, &group)?;
            }
            let verb = if cancels { "cancelling" } else { "waiting for" };
            (notice.0)(&format!("{verb} run {owner} of the concurrency group `{group}`"));
            told = Some(owner.clone());
        }
        if waits && round == CYCLE_ROUNDS {
            let own = std::iter::once(run.to_string());
            request.wait_within(&own.chain(above.units.iter().cloned()).collect::<Vec<_>>())?;
        }
        if waits
            && round.is_multiple_of(CYCLE_ROUNDS)
            && let Some(cycle) = run_blocking(|| request.cycle())?
        {
            return Err(in_a_cycle(&cycle));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
    Ok(None)
}

fn in_a_cycle(cycle: &LockCycle) -> ServiceError {
    let failure = Failure::new(Code::LOCK_CYCLE, format!("these wait for each other: {cycle}")).help(
        "start it again when the other run has ended; let both runs enter the groups in the same order, or use one group for both",
    );
    ServiceError::refused(failure)
}

/// Sends a cancellation to the run that is in the group. One that has not been created yet has nothing to
/// cancel.
fn cancel(
    journal: &dyn Journal,
    owner: &str,
    run: &RunId,
    group: &str,
) -> Result<(), ServiceError> {
    let Ok(owner) = RunId::new(owner) else { return Ok(()) };
    if journal.run(&owner).is_err() {
        return Ok(());
    }
    let by = format!("run {run} of the concurrency group `{group}`");
    journal.post(&owner, &format!("replaced-by-{run}"), "cancel", json!({"by": by}))?;
    Ok(())
}

fn busy(group: &str, owner: &str, policy: &str) -> ServiceError {
    let message = format!("run {owner} of the concurrency group `{group}` executes ({policy})");
    let failure = Failure::new(Code::GROUP_BUSY, message)
        .help("start it again when that run has ended; `onConflict: queue` waits for it");
    ServiceError::refused(failure)
}

fn held_above(group: &str, owner: &str) -> ServiceError {
    let message =
        format!("the child run waits for the concurrency group `{group}` of run {owner} above it");
    let failure = Failure::new(Code::GROUP_BUSY, message)
        .help("give the two playbooks different groups, or remove `concurrency` from one of them");
    ServiceError::refused(failure)
}
