//! Secrets that must be fetched before an effect, for example by running a command. Each fetch is a
//! task of its own, so that the dispatcher does not wait.

use super::attempts::{self, AttemptChannel, Message};
use super::context::RunContext;
use super::fold::Folded;
use super::prepare;
use super::secrets::Secrets;
use super::step_locks::WantedLocks;
use crate::journal::StoredEvent;
use kb_attempt::Live;
use kb_base::value::{Failure, OutcomeKind};
use kb_core::run::{Effect, Event, InstanceIx, State};
use kb_language::plan::Touched;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The secrets that the redactor must know before the next effect.
pub(super) struct SecretFetcher {
    /// Secrets that earlier lease owners may have read. They are fetched again before the first
    /// effect, because its output may contain them.
    previous: BTreeSet<String>,
}

/// A fetch that an effect needs.
pub(super) struct Fetch {
    previous: BTreeSet<String>,
    missing: BTreeSet<String>,
    touched: Live<Option<Touched>>,
    timeout: Option<Duration>,
    locks: Option<WantedLocks>,
}

impl SecretFetcher {
    /// For a run with these events.
    pub(super) fn new(context: &RunContext, state: &State, stored: &[StoredEvent]) -> Self {
        let started = stored.iter().filter_map(|stored| {
            let Event::Started { instance, .. } = &*stored.event else { return None };
            Some(*instance)
        });
        let steps: BTreeMap<_, _> = started.map(|ix| (state.instance(ix).step, ix)).collect();
        let previous = steps.into_values().flat_map(|ix| missing(context, state, ix)).collect();
        SecretFetcher { previous }
    }

    /// The fetch that an attempt or gate of this instance needs; `None` if it needs none.
    pub(super) fn fetch_for(
        &self,
        context: &RunContext,
        folded: &Folded,
        ix: InstanceIx,
        locks: Option<WantedLocks>,
    ) -> Option<Fetch> {
        let state = &folded.state;
        let (previous, missing) = (self.previous.clone(), missing(context, state, ix));
        let timeout = prepare::attempt_timeout(&context.plan, state, ix);
        let needed = !previous.is_empty() || !missing.is_empty() || locks.is_some();
        let touched = folded.known.touched_besides(ix);
        needed.then_some(Fetch { previous, missing, touched, timeout, locks })
    }

    /// Notes that a fetch succeeded.
    pub(super) fn note_fetched(&mut self) {
        self.previous.clear();
    }
}

impl Fetch {
    /// Fetches the secrets and sends [`Message::Fetched`].
    pub(super) async fn run(
        self,
        secrets: Arc<dyn Secrets>,
        effect: Effect,
        channel: Arc<AttemptChannel>,
        cancel: CancellationToken,
    ) {
        let touched = &self.touched;
        let all = async {
            // A previous secret that is not available any more is not needed by this step.
            for secret in &self.previous {
                let _ = secrets.fetch(secret, touched, &cancel).await;
            }
            for secret in &self.missing {
                secrets.fetch(secret, touched, &cancel).await?;
            }
            Ok(())
        };
        let fetched = tokio::select! {
            biased;
            () = cancel.cancelled() => Err((OutcomeKind::Cancelled, attempts::cancelled())),
            fetched = all => {
                fetched.map_err(|failure: Failure| (OutcomeKind::ToolError, failure))
            }
            _woken = attempts::expired(&channel.clock, self.timeout) => {
                let failure = attempts::too_late("took longer than", self.timeout);
                Err((OutcomeKind::Timeout, failure))
            }
        };
        // A timeout counts an attempt, not the wait for its locks.
        let fetched = match (fetched, self.locks) {
            (Ok(()), Some(locks)) => locks.acquire(&channel, &cancel).await,
            (Ok(()), None) => Ok(Vec::new()),
            (Err(failed), _) => Err(failed),
        };
        let fetched = fetched.map_err(|(kind, failure)| (kind, Box::new(failure)));
        let (work, effect) = (channel.work, Box::new(effect));
        let _ = channel.messages.send(Message::Fetched { work, effect, fetched });
    }
}

/// The secrets that an instance reads and that must be fetched.
fn missing(context: &RunContext, state: &State, ix: InstanceIx) -> BTreeSet<String> {
    let step = &context.planned(state, ix).step;
    let mut named = prepare::secrets(&context.plan, &context.params, step);
    named.retain(|secret| context.parts.secrets.is_missing(secret));
    named
}
