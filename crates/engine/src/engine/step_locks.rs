//! The locks of steps between runs: requested before an attempt or gate starts, kept until its instance
//! leaves its slot. Within a run the state machine orders the steps.

use super::attempts::{self, AttemptChannel};
use crate::journal::{Journal, JournalError, LockCycle, LockRequest, NamedLocks};
use kb_attempt::{Progress, Recorder, run_blocking};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, OutcomeKind, RunId};
use kb_core::run::{InstanceIx, State};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Intervals between two reads of the queue of a lock.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_millis(200);
/// Reads of the queue from one search for requests that wait for each other to the next: about a second.
const CYCLE_ROUNDS: u32 = 8;

/// The locks that the live instances of a run hold.
#[derive(Default)]
pub(super) struct StepLocks(BTreeMap<InstanceIx, Vec<LockRequest>>);

impl StepLocks {
    /// Whether an instance has its locks.
    pub(super) fn has(&self, instance: InstanceIx) -> bool {
        self.0.contains_key(&instance)
    }

    /// Keeps the locks of an instance.
    pub(super) fn keep(&mut self, instance: InstanceIx, locks: Vec<LockRequest>) {
        if !locks.is_empty() {
            self.0.insert(instance, locks);
        }
    }

    /// Releases the locks of all instances that have left their slots.
    pub(super) fn release(&mut self, state: &State) {
        self.0.retain(|ix, _| state.instance(*ix).holds_slot());
    }
}

/// The locks that an effect waits for.
pub(super) struct WantedLocks {
    pub(super) locks: NamedLocks,
    /// In order, so that two steps do not wait for each other.
    pub(super) names: Vec<String>,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) run: RunId,
    /// Key of the instance.
    pub(super) instance: String,
}

impl WantedLocks {
    /// Waits for the locks, one after the other.
    pub(super) async fn acquire(
        self,
        channel: &AttemptChannel,
        cancel: &CancellationToken,
    ) -> Result<Vec<LockRequest>, (OutcomeKind, Failure)> {
        let mut held = Vec::with_capacity(self.names.len());
        let owner = format!("run {}", self.run);
        let unit = format!("{}/{}", self.run, self.instance);
        for name in &self.names {
            let request = run_blocking(|| self.locks.request(name, &owner, &unit));
            let request = request.map_err(unusable)?;
            held.push(self.wait(request, name, channel, cancel).await?);
        }
        Ok(held)
    }

    async fn wait(
        &self,
        mut request: LockRequest,
        name: &str,
        channel: &AttemptChannel,
        cancel: &CancellationToken,
    ) -> Result<LockRequest, (OutcomeKind, Failure)> {
        let (mut pause, mut told) = (FIRST_PAUSE, false);
        for round in 1_u32.. {
            let queue = run_blocking(|| request.queue()).map_err(unusable)?;
            let Some(owner) = queue.before.first() else { return Ok(request) };
            if !std::mem::replace(&mut told, true) {
                let lock = name.trim_start_matches("lock/");
                let text = format!("waiting for the lock `{lock}`, which {owner} holds");
                channel.progress(Progress::Output(text));
            }
            if round == CYCLE_ROUNDS {
                run_blocking(|| request.wait_within(&self.within())).map_err(unusable)?;
            }
            if round.is_multiple_of(CYCLE_ROUNDS)
                && let Some(cycle) = run_blocking(|| request.cycle()).map_err(unusable)?
            {
                return Err((OutcomeKind::ToolError, in_a_cycle(&cycle)));
            }
            tokio::select! {
                () = cancel.cancelled() => break,
                () = channel.clock.sleep(pause) => pause = (pause * 2).min(MAX_PAUSE),
            }
        }
        Err((OutcomeKind::Cancelled, attempts::cancelled()))
    }

    /// The runs and steps that cannot end before this step: itself, its run, and all above them.
    fn within(&self) -> Vec<String> {
        let mut within = Vec::new();
        let mut at = Some((self.run.clone(), self.instance.clone()));
        while let Some((run, instance)) = at {
            within.extend([format!("{run}/{instance}"), run.to_string()]);
            let text = |key: &str, frozen: &kb_base::value::Json| {
                frozen["parent"][key].as_str().map(str::to_owned)
            };
            at = self.journal.frozen(&run).ok().and_then(|frozen| {
                let run = RunId::new(text("run", &frozen)?).ok()?;
                Some((run, text("instance", &frozen)?))
            });
        }
        within
    }
}

/// The failure of a step that would wait for ever.
fn in_a_cycle(cycle: &LockCycle) -> Failure {
    Failure::new(Code::LOCK_CYCLE, format!("these wait for each other: {cycle}")).help(
        "start it again when the other run has ended; let both runs take the outer lock first, or use one lock for both",
    )
}

fn unusable(error: JournalError) -> (OutcomeKind, Failure) {
    (OutcomeKind::ToolError, Failure::new(Code::JOURNAL_UNUSABLE, error.to_string()))
}
