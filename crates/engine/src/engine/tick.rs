//! A tick: the dispatcher decides on all queued inputs, stores the events in one append, and only
//! then performs the effects.

use super::context::RunContext;
use super::dispatcher::Dispatcher;
use super::durability::is_durable;
use super::evaluate::{can_wait, evaluate};
use super::queue::{Queued, QueuedInput};
use super::step_ends;
use crate::journal::{Batch, Durability, JournalError, StoredEvent};
use kb_attempt::Stopped;
use kb_core::evidence::Heard;
use kb_core::run::{Effect, Envelope, Event, Input, State, decide};
use kb_language::plan::Plan;

/// Maximum number of events in one append. A larger tick is split so that displays show progress.
const BATCH: usize = 512;

impl Dispatcher {
    /// Runs ticks until no input is queued.
    pub(super) async fn tick(&mut self) -> Result<(), JournalError> {
        while !self.inputs.is_empty() || !self.write.events.is_empty() {
            self.write.at = self.context.parts.clock.now();
            while let Some(queued) = self.inputs.pop() {
                match queued {
                    Queued::Input(queued) => self.process(*queued),
                    Queued::Evaluate(effect) => self.answer(effect),
                }
                if self.write.events.len() >= BATCH {
                    break;
                }
            }
            self.store().await?;
            if self.abandoned {
                // An injected kill: no effect follows.
                return Ok(());
            }
            self.locks.release(&self.folded.state);
            for effect in std::mem::take(&mut self.write.effects) {
                self.perform(effect);
            }
            if !self.inputs.is_empty() {
                self.yield_to_others().await;
            }
            if self.abandoned {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Steps that only compute could occupy the thread until the last of them has ended.
    async fn yield_to_others(&mut self) {
        tokio::task::yield_now().await;
        while let Ok(control) = self.control.try_recv() {
            self.apply_control(control);
        }
    }

    /// Decides on one input. Its acknowledgements follow once its events are stored. A record that
    /// the state machine dropped belongs to an attempt that is over.
    fn process(&mut self, queued: QueuedInput) {
        let before = self.write.events.len();
        let answer = self.decide(queued.input);
        if let Some(heard) = queued.heard {
            match answer {
                Some(answer) => self.write.heard.push((heard, answer)),
                None => drop(heard.send(Err(Stopped))),
            }
        }
        self.write.acknowledged.extend(queued.message);
        if let Some(ack) = queued.ack {
            let mut events = self.write.events[before..].iter();
            if events.any(|event| matches!(**event, Event::Recorded { .. })) {
                self.write.acks.push(ack);
            } else {
                let _ = ack.send(Err(Stopped));
            }
        }
    }

    /// Decides on one input. Returns the answer to what an attempt said or asked.
    fn decide(&mut self, input: Input) -> Option<Heard> {
        // Each decision states again whether the dispatcher can leave.
        self.write.effects.retain(|effect| *effect != Effect::Leave);
        let envelope = Envelope { at: self.write.at, epoch: self.context.epoch, input };
        let decision = decide(&self.context.plan, &mut self.folded.state, envelope);
        tracing::debug!(events = decision.events.len(), effects = ?decision.effects, "decided");
        let next = self.folded.seq + self.write.events.len() as u64 + 1;
        for (seq, event) in (next..).zip(&decision.events) {
            self.folded.note(&self.context.plan, (seq, self.write.at), event);
        }
        self.write.events.extend(decision.events);
        for effect in decision.effects {
            if can_wait(&self.context, &self.folded.state, &effect) {
                self.inputs.push_evaluation(effect);
                continue;
            }
            match evaluate(&self.context, &self.folded.state, &effect) {
                Some(answer) => self.inputs.push(answer),
                None => self.write.effects.push(effect),
            }
        }
        decision.heard
    }

    /// Evaluates and decides on the answer. What has to read files waits for the events so far.
    fn answer(&mut self, effect: Effect) {
        match evaluate(&self.context, &self.folded.state, &effect) {
            Some(answer) => drop(self.decide(answer)),
            None => self.write.effects.push(effect),
        }
    }

    /// Appends the events, then publishes them and acknowledges records and messages.
    async fn store(&mut self) -> Result<(), JournalError> {
        let RunContext { parts, run, epoch, plan, payloads, events: channel, .. } = &self.context;
        let write = &mut self.write;
        payloads.check()?;
        let (at, before) = (write.at, self.folded.seq);
        let status = write.status(&self.folded.state);
        let events = std::mem::take(&mut write.events);
        // If the append fails, the dropped acknowledgements stop the attempts that wait for them.
        let acks = std::mem::take(&mut write.acks);
        let answers = std::mem::take(&mut write.heard);
        tracing::debug!(run = %run, after = before, events = events.len(), "storing");
        if !events.is_empty() {
            let state = &self.folded.state;
            let durable = events.iter().any(|event| is_durable(plan, state, event));
            let durability = if durable { Durability::Durable } else { Durability::Ordered };
            let acknowledged = write.acknowledged.as_slice();
            let ended = |event: &Event| ended_step(plan, state, event);
            if let Some(faults) = &parts.faults {
                faults.before(events.iter().map(|event| &**event), ended)?;
            }
            let batch =
                Batch { status, acknowledged, durability, ..Batch::after(before, at, &events) };
            let last = parts.journal.append(run, *epoch, batch).await?;
            write.acknowledged.clear();
            self.folded.seq = last;
            if let Some(faults) = &parts.faults {
                self.abandoned |= faults.after(events.iter().map(|event| &**event), ended);
            }
            step_ends::note_ends(&self.context, state, events.iter().map(|event| &**event));
            if let Some(channel) = channel {
                // Displays show the head of the hash chain with the end of the run.
                let ends =
                    events.last().is_some_and(|event| matches!(**event, Event::RunEnded { .. }));
                let head = if ends { parts.journal.chain_head(run).await? } else { None };
                let count = events.len();
                let stored = (before + 1..).zip(events).map(|(seq, event)| {
                    let digest = head.filter(|_| seq == last);
                    StoredEvent { seq, at, epoch: *epoch, event, digest }
                });
                channel.stored(last, count, || stored.collect());
            }
        }
        let acknowledged = std::mem::take(&mut write.acknowledged);
        if !acknowledged.is_empty() {
            parts.journal.acknowledge(run, *epoch, &acknowledged).await?;
        }
        for ack in acks {
            let _ = ack.send(Ok(()));
        }
        for (heard, answer) in answers {
            let _ = heard.send(Ok(answer));
        }
        Ok(())
    }
}

/// The instance that an event ends.
fn ended_step(plan: &Plan, state: &State, event: &Event) -> Option<String> {
    match event {
        Event::Ended { instance, .. } => Some(state.key(plan, *instance).to_string()),
        _ => None,
    }
}
