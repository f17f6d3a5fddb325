//! A tick: everything that has come is decided on, stored at once, and only then acted upon.

use super::dispatcher::{Dispatcher, QueuedInput};
use super::setup::Setup;
use crate::clock;
use crate::journal::{Batch, Durability, JournalError, StoredEvent};
use crate::run::{Effect, Envelope, Event, Input, RunStatus, decide};

/// Events of one append at most; beyond, a tick is split so that watchers see it move.
const BATCH: usize = 512;

impl Dispatcher {
    /// Decides on everything that has come, stores, then acts; until nothing is left to decide.
    pub(super) async fn tick(&mut self) -> Result<(), JournalError> {
        while !self.inputs.is_empty() || !self.pending.is_empty() {
            // One moment for everything that is stored together: live and folded state agree.
            self.now = clock::now();
            while let Some(waiting) = self.inputs.pop_front() {
                self.take_in(waiting);
                if self.pending.len() >= BATCH {
                    break;
                }
            }
            self.store().await?;
            for effect in std::mem::take(&mut self.effects) {
                self.perform(effect);
            }
            if !self.inputs.is_empty() {
                self.give_way().await;
            }
            if self.abandoned {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Steps that only compute could keep a thread to themselves: displays, timers and signals would
    /// hear nothing until the last of them has ended.
    async fn give_way(&mut self) {
        tokio::task::yield_now().await;
        while let Ok(command) = self.setup.commands.try_recv() {
            self.obey(command);
        }
    }

    /// Decides on one input. What is owed for it is paid once its events are stored; a record that
    /// the heart did not take belongs to an attempt that is over.
    fn take_in(&mut self, waiting: QueuedInput) {
        let before = self.pending.len();
        self.decide(waiting.input);
        self.taken.extend(waiting.inbox);
        if let Some(ack) = waiting.ack {
            let taken = self.pending[before..].iter().any(|e| matches!(e, Event::Recorded { .. }));
            if taken {
                self.acks.push(ack);
            } else {
                let _ = ack.send(Err(crate::attempt::Stopped));
            }
        }
    }

    fn decide(&mut self, input: Input) {
        // Each decision says anew whether the holder can leave.
        self.effects.retain(|effect| *effect != Effect::Leave);
        let envelope = Envelope { at: self.now, epoch: self.setup.epoch, input };
        let decision = decide(&self.setup.plan, &mut self.folded.state, envelope);
        tracing::debug!(events = decision.events.len(), effects = ?decision.effects, "decided");
        for event in &decision.events {
            self.folded.note(event);
        }
        self.pending.extend(decision.events);
        for effect in decision.effects {
            // Pure effects change nothing outside, so they need not wait for the journal.
            if !self.evaluate(&effect) {
                self.effects.push(effect);
            }
        }
    }

    /// Appends what was decided, then tells those who wait for it.
    async fn store(&mut self) -> Result<(), JournalError> {
        self.payloads.check()?;
        let events = std::mem::take(&mut self.pending);
        tracing::debug!(run = %self.setup.run, after = self.folded.seq, events = events.len(), "storing");
        let acks = std::mem::take(&mut self.acks);
        if !events.is_empty() {
            let at = self.now;
            let status = self.presents();
            let durability = if events.iter().any(|event| self.is_durable(event)) {
                Durability::Durable
            } else {
                Durability::Ordered
            };
            let Setup { run, epoch, .. } = &self.setup;
            let before = self.folded.seq;
            let acknowledged = self.taken.as_slice();
            let batch =
                Batch { status, acknowledged, durability, ..Batch::after(before, at, &events) };
            let last = self.parts.journal.append(run, *epoch, batch).await?;
            self.taken.clear();
            self.folded.seq = last;
            if let Some(updates) = &self.setup.updates {
                // Watchers want the chain's head where a run ends, which is the last of its batch.
                let ends = matches!(events.last(), Some(Event::RunEnded { .. }));
                let head = if ends { self.parts.journal.chain_head(run).await? } else { None };
                let count = events.len();
                let stored = (before + 1..).zip(events).map(|(seq, event)| {
                    let digest = head.filter(|_| seq == last);
                    StoredEvent { seq, at, epoch: *epoch, event, digest }
                });
                updates.stored(last, count, || stored.collect());
            }
        }
        let taken = std::mem::take(&mut self.taken);
        if !taken.is_empty() {
            self.parts.journal.acknowledge(&self.setup.run, self.setup.epoch, &taken).await?;
        }
        for ack in acks {
            let _ = ack.send(Ok(()));
        }
        Ok(())
    }

    fn presents(&self) -> RunStatus {
        let state = &self.folded.state;
        if state.status() != RunStatus::Running {
            return state.status();
        }
        if self.effects.contains(&Effect::Leave) {
            return if state.is_draining() { RunStatus::Interrupted } else { RunStatus::Waiting };
        }
        RunStatus::Running
    }
}
