//! Secrets that have to be fetched before an effect: in a task of their own, never on the
//! dispatcher's thread.

use super::attempts::{self, Message};
use super::dispatcher::Dispatcher;
use super::prepare;
use crate::attempt::Outcome;
use crate::journal::StoredEvent;
use crate::run::{Effect, Event, InstanceIx, StepStatus};
use crate::value::{Failure, OutcomeKind};
use std::collections::{BTreeMap, BTreeSet};

/// How fetching ended.
pub(super) type Fetched = Result<(), (OutcomeKind, Box<Failure>)>;

impl Dispatcher {
    /// The effect, where nothing has to be fetched for it. Else it is performed when that is done.
    pub(super) fn with_secrets(&mut self, effect: Effect) -> Option<Effect> {
        let (Effect::Execute { instance, attempt, iteration, .. }
        | Effect::Verify { instance, attempt, iteration }) = &effect
        else {
            return Some(effect);
        };
        let (instance, attempt, iteration) = (*instance, *attempt, *iteration);
        let (missing, earlier) = (self.missing(instance), self.earlier.clone());
        if missing.is_empty() && earlier.is_empty() {
            return Some(effect);
        }
        let (line, cancel) = self.open_channel(instance, attempt, iteration);
        let planned = self.setup.plan.step(self.folded.state.instance(instance).step);
        let timeout = prepare::attempt_timeout(planned);
        let secrets = self.parts.secrets.clone();
        tokio::spawn(async move {
            let all = async {
                // One that cannot be had any more is nothing that this step needs.
                for secret in &earlier {
                    let _ = secrets.fetch(secret, &cancel).await;
                }
                for secret in &missing {
                    secrets.fetch(secret, &cancel).await?;
                }
                Ok(())
            };
            let fetched = tokio::select! {
                biased;
                () = cancel.cancelled() => Err((OutcomeKind::Cancelled, attempts::cancelled())),
                fetched = all => {
                    fetched.map_err(|failure: Failure| (OutcomeKind::ToolError, failure))
                }
                () = attempts::expired(timeout) => {
                    let failure = attempts::too_late("took longer than", timeout);
                    Err((OutcomeKind::Timeout, failure))
                }
            };
            let fetched = fetched.map_err(|(kind, failure)| (kind, Box::new(failure)));
            let effect = Box::new(effect);
            let _ = line.messages.send(Message::Fetched { instance, attempt, effect, fetched });
        });
        None
    }

    /// What the steps that began by these events had read and nobody here knows yet.
    pub(super) fn missing_of(&self, stored: &[StoredEvent]) -> BTreeSet<String> {
        let begun = stored.iter().filter_map(|stored| match &stored.event {
            Event::Started { instance, .. } => Some(*instance),
            _ => None,
        });
        let steps: BTreeMap<_, _> =
            begun.map(|ix| (self.folded.state.instance(ix).step, ix)).collect();
        steps.into_values().flat_map(|ix| self.missing(ix)).collect()
    }

    fn missing(&self, ix: InstanceIx) -> BTreeSet<String> {
        let step = &self.setup.plan.step(self.folded.state.instance(ix).step).step;
        let mut named = prepare::secrets(&self.setup.plan, &self.setup.params, step);
        named.retain(|secret| self.parts.secrets.is_missing(secret));
        named
    }

    /// Goes on with an effect whose secrets were fetched, unless it is not wanted any more.
    pub(super) fn fetched(
        &mut self,
        instance: InstanceIx,
        attempt: u32,
        effect: Effect,
        fetched: Fetched,
    ) {
        if fetched.is_ok() {
            self.earlier.clear();
        }
        let cancelled = self.cancels.remove(&instance).is_some_and(|cancel| cancel.is_cancelled());
        let current = self.folded.state.instance(instance);
        let live = current.attempt == attempt
            && matches!(current.status, StepStatus::Running | StepStatus::Verifying);
        if !live || self.abandoned {
            return;
        }
        let stopped = || (OutcomeKind::Cancelled, Box::new(attempts::cancelled()));
        match (fetched, effect) {
            (Ok(()), effect) if !cancelled => self.act(effect),
            (fetched, Effect::Verify { iteration, .. }) => {
                let (_, failure) = fetched.err().unwrap_or_else(stopped);
                self.not_looked(instance, iteration, attempt, *failure);
            }
            (fetched, Effect::Execute { iteration, .. }) => {
                let (kind, failure) = fetched.err().unwrap_or_else(stopped);
                self.not_begun(instance, iteration, attempt, Outcome::failed(kind, *failure));
            }
            // Nothing else has secrets fetched for it.
            _ => {}
        }
    }
}
