//! The attempts and gates that execute at the moment, and their channel to the dispatcher.

use super::attempt::Attempt;
use super::attempts::{AttemptChannel, Message};
use super::context::RunContext;
use kb_attempt::{Shutdown, Stopped};
use kb_clock::{BusyGuard, RunClock, instant};
use kb_core::run::{InstanceIx, State};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long [`ActiveAttempts::stop_all`] waits for attempts to end.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A task that ends when this is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The running attempts. Their owner is the dispatcher.
pub(super) struct ActiveAttempts {
    cancels: BTreeMap<InstanceIx, (CancellationToken, BusyGuard)>,
    clock: RunClock,
    /// Tasks of attempts that are processes; dropping a task stops it.
    processes: BTreeMap<InstanceIx, AbortOnDrop>,
    /// Start times of attempts, for the timeout that an attempt shares with its gate.
    started: BTreeMap<InstanceIx, Instant>,
    sender: UnboundedSender<Message>,
    receiver: UnboundedReceiver<Message>,
    shutdown: Shutdown,
}

impl ActiveAttempts {
    pub(super) fn new(clock: RunClock) -> ActiveAttempts {
        let (sender, receiver) = unbounded_channel();
        let (cancels, processes, started, shutdown) = Default::default();
        ActiveAttempts { cancels, clock, processes, started, sender, receiver, shutdown }
    }

    /// Opens the channel of an attempt, its gate, or the fetch of its secrets.
    pub(super) fn open(
        &mut self,
        context: &RunContext,
        state: &State,
        work: Attempt,
    ) -> (Arc<AttemptChannel>, CancellationToken) {
        let cancel = CancellationToken::new();
        self.cancels.insert(work.instance, (cancel.clone(), self.clock.busy()));
        (context.channel(state, work, self.sender.clone()), cancel)
    }

    /// Where tasks send their messages.
    pub(super) fn sender(&self) -> UnboundedSender<Message> {
        self.sender.clone()
    }

    /// Notes the start of an attempt.
    pub(super) fn note_start(&mut self, state: &State, instance: InstanceIx) {
        // Attempts without a gate would stay otherwise.
        self.started.retain(|ix, _| state.instance(*ix).holds_slot());
        self.started.insert(instance, instant());
    }

    /// How long the attempt of an instance has taken. A second call returns zero.
    pub(super) fn take_elapsed(&mut self, instance: InstanceIx) -> Duration {
        self.started.remove(&instance).map_or(Duration::ZERO, |started| started.elapsed())
    }

    /// Keeps the task of an attempt that is a process.
    pub(super) fn keep_process(&mut self, instance: InstanceIx, task: JoinHandle<()>) {
        self.processes.insert(instance, AbortOnDrop(task));
    }

    /// Asks the attempt or gate of an instance to stop.
    pub(super) fn cancel(&self, instance: InstanceIx) {
        if let Some((cancel, _)) = self.cancels.get(&instance) {
            cancel.cancel();
        }
    }

    /// Removes an attempt that has ended. Returns whether it had been asked to stop.
    pub(super) fn remove(&mut self, instance: InstanceIx) -> bool {
        self.processes.remove(&instance);
        self.cancels.remove(&instance).is_some_and(|(cancel, _)| cancel.is_cancelled())
    }

    /// Whether nothing runs.
    pub(super) fn is_empty(&self) -> bool {
        self.cancels.is_empty()
    }

    /// The next message of an attempt.
    pub(super) async fn recv(&mut self) -> Option<Message> {
        self.receiver.recv().await
    }

    /// The next message, if there is one.
    pub(super) fn try_recv(&mut self) -> Option<Message> {
        self.receiver.try_recv().ok()
    }

    /// How attempts learn that this process stops driving the run.
    pub(super) fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Stops everything and waits for its end, at most for [`STOP_LIMIT`].
    pub(super) async fn stop_all(&mut self) {
        self.shutdown.abandon.cancel();
        self.cancels.values().for_each(|(cancel, _)| cancel.cancel());
        let limit = instant() + STOP_LIMIT;
        while !self.cancels.is_empty() {
            match tokio::time::timeout_at(limit.into(), self.receiver.recv()).await {
                Ok(Some(
                    Message::Ended { work, .. }
                    | Message::Judged { work, .. }
                    | Message::Waits { work, .. }
                    | Message::Asks { work, .. }
                    | Message::Fetched { work, .. },
                )) => {
                    self.cancels.remove(&work.instance);
                }
                Ok(Some(
                    Message::Listed { .. } | Message::Merged { .. } | Message::Checked { .. },
                )) => {}
                Ok(Some(Message::Record { stored, .. })) => drop(stored.send(Err(Stopped))),
                Ok(Some(Message::Exchange { heard, .. })) => drop(heard.send(Err(Stopped))),
                Ok(Some(Message::JournalFailed { ended, .. })) => {
                    ended.map(|instance| self.cancels.remove(&instance));
                }
                Ok(None) | Err(_) => return,
            }
        }
    }
}
