//! Decisions, one file per group of inputs. Handlers emit events with [`Decider::emit`], which applies
//! each event at once, so that the next decision sees the state after it.

mod attempt;
mod cancel;
mod child;
mod conclude;
mod evaluated;
mod exchange;
mod hook;
mod merge;
mod preset;
mod repeat;
mod reset;
mod send_back;
mod settle;
mod start;
mod waiting;

use super::effect::Effect;
use super::event::{Event, InstanceIx};
use super::input::{Envelope, Input};
use super::instance::Instance;
use super::state::State;
use crate::evidence::Heard;
use crate::redaction::Masked;
use kb_base::value::{Digest, Timestamp};
use kb_language::definition::Step;
use kb_language::plan::Plan;

/// The result of one input: events to store, then effects to perform.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// Events in order, already folded into the state.
    pub events: Vec<Masked<Event>>,
    /// Effects to perform once the events are stored.
    pub effects: Vec<Effect>,
    /// The answer to an [`Input::Exchanged`], to give once the events are stored; `None` if the attempt is over.
    pub heard: Option<Heard>,
}

/// Decides what follows from an input, and folds the events into the state.
///
/// Deterministic: the same plan, state and envelope give the same decision. An outdated input (an old
/// attempt or iteration, a step that has ended, a repeated answer) gives no events. If the events
/// cannot be stored, the state is ahead of the journal and must be dropped.
pub fn decide(plan: &Plan, state: &mut State, envelope: Envelope) -> Decision {
    let mut decider = Decider {
        plan,
        state,
        at: envelope.at,
        epoch: envelope.epoch,
        decision: Decision::default(),
    };
    decider.handle(envelope.input);
    decider.fill();
    let mut seen = 0;
    while seen < decider.decision.events.len() {
        let from = seen;
        seen = decider.decision.events.len();
        decider.settle_start_hooks(from);
        decider.fill();
    }
    decider.conclude();
    decider.decision
}

struct Decider<'a> {
    plan: &'a Plan,
    state: &'a mut State,
    at: Timestamp,
    epoch: u64,
    decision: Decision,
}

impl Decider<'_> {
    fn handle(&mut self, input: Input) {
        match input {
            Input::Started { digest, params, environment, presets } => {
                self.started(digest, params.into_inner(), environment.into_inner(), presets)
            }
            Input::Recovered { cancel, alive } => {
                self.recovered(cancel.map(Masked::into_inner), alive)
            }
            Input::Evaluated { instance, iteration, found } => {
                let found = found.map(Masked::into_inner).map_err(Masked::into_inner);
                self.evaluated(instance, iteration, found)
            }
            Input::Recorded { instance, iteration, attempt, record } => {
                self.recorded(instance, (iteration, attempt), record.into_inner())
            }
            Input::Exchanged { instance, iteration, attempt, call, exchange } => {
                self.exchanged(instance, (iteration, attempt), call, exchange.into_inner())
            }
            Input::AttemptEnded { instance, iteration, attempt, report } => {
                self.attempt_ended(instance, (iteration, attempt), report.into_inner())
            }
            Input::Judged { instance, iteration, attempt, verification } => {
                self.judged(instance, (iteration, attempt), verification.into_inner())
            }
            Input::UntilEvaluated { instance, iteration, attempt, done } => {
                let done = done.map_err(Masked::into_inner);
                self.until_evaluated(instance, (iteration, attempt), done)
            }
            Input::TimerDue { instance } => self.timer_due(instance),
            Input::Merged { instance, iteration, merged } => {
                self.merged(instance, iteration, merged.into_inner())
            }
            Input::Gathered { instance, iteration, output } => {
                let output = output.map(Masked::into_inner).map_err(Masked::into_inner);
                self.gathered(instance, iteration, output)
            }
            Input::Answered { instance, reply } => self.answered(instance, reply.into_inner()),
            Input::ReplyRefused { .. } => {}
            Input::WaitOpened { instance, iteration, attempt, wait } => {
                self.wait_opened(instance, (iteration, attempt), wait.into_inner())
            }
            Input::ChildMoved { instance } => self.child_moved(instance),
            Input::ChildWaits { instance, iteration, attempt, reason } => {
                self.child_waits(instance, (iteration, attempt), reason.into_inner())
            }
            Input::CancelRequested { by } => self.cancel_requested(by.into_inner()),
            Input::Expired { limit_ms } => self.expired(limit_ms),
            Input::Drain { reason } => self.drain(reason.into_inner()),
            Input::Reset { roots, alone, reason } => self.reset(roots, alone, reason.into_inner()),
            Input::Concluded { iteration, outputs } => {
                let outputs = outputs.map(Masked::into_inner).map_err(Masked::into_inner);
                self.concluded(iteration, outputs)
            }
        }
    }

    /// Adds an event. Its texts are those of inputs, which are masked, and of the plan.
    fn emit(&mut self, event: Event) {
        self.state.apply(self.plan, self.at, &event);
        self.decision.events.push(Masked::composed(event));
    }

    fn effect(&mut self, effect: Effect) {
        self.decision.effects.push(effect);
    }

    fn instance(&self, ix: InstanceIx) -> &Instance {
        self.state.instance(ix)
    }

    fn step(&self, ix: InstanceIx) -> &Step {
        &self.plan.step(self.instance(ix).step).step
    }

    fn exists(&self, ix: InstanceIx) -> bool {
        ix.at() < self.state.instances.len()
    }

    fn is_in(&self, ix: InstanceIx, iteration: u32) -> bool {
        self.exists(ix) && self.instance(ix).iteration == iteration
    }

    /// The jitter of an attempt, the same in every replay.
    fn jitter(&self, ix: InstanceIx) -> Digest {
        let instance = self.instance(ix);
        Digest::of(format!(
            "{}/{}/{}/{}",
            self.state.seed, ix.0, instance.iteration, instance.attempt
        ))
    }
}
