//! Inputs and evaluations that wait for the next tick, in order of arrival.

use kb_attempt::Stopped;
use kb_core::evidence::Heard;
use kb_core::run::{Effect, Input};
use std::collections::VecDeque;
use tokio::sync::oneshot;

/// Tells an attempt whether its record was stored.
pub(super) type Ack = oneshot::Sender<Result<(), Stopped>>;

/// Gives an attempt the answer to what it said or asked.
pub(super) type HeardAck = oneshot::Sender<Result<Heard, Stopped>>;

/// An input with the acknowledgements that follow once its events are stored.
pub(super) struct QueuedInput {
    pub(super) input: Input,
    /// The attempt that waits for its record.
    pub(super) ack: Option<Ack>,
    /// The attempt that waits for the answer of the decision.
    pub(super) heard: Option<HeardAck>,
    /// The inbox message that led to the input.
    pub(super) message: Option<i64>,
}

impl QueuedInput {
    /// An input whose sender does not wait.
    fn new(input: Input) -> QueuedInput {
        QueuedInput { input, ack: None, heard: None, message: None }
    }
}

/// What waits. Many items wait for their evaluation at the same time, so an entry is small: values are
/// computed when it is their turn.
pub(super) enum Queued {
    Input(Box<QueuedInput>),
    /// An effect that only computes, whose answer is the next input.
    Evaluate(Effect),
}

/// Number of entries from which a queue is long.
const LONG: usize = 256;

/// The queue. Its owner is the dispatcher.
#[derive(Default)]
pub(super) struct InputQueue(VecDeque<Queued>);

impl InputQueue {
    /// Adds an input whose sender does not wait.
    pub(super) fn push(&mut self, input: Input) {
        self.add(QueuedInput::new(input));
    }

    /// Adds an evaluation.
    pub(super) fn push_evaluation(&mut self, effect: Effect) {
        self.0.push_back(Queued::Evaluate(effect));
    }

    fn add(&mut self, queued: QueuedInput) {
        self.0.push_back(Queued::Input(Box::new(queued)));
    }

    /// Adds inputs whose sender does not wait.
    pub(super) fn push_all(&mut self, inputs: Vec<Input>) {
        inputs.into_iter().for_each(|input| self.push(input));
    }

    /// Adds the record of an attempt that waits until it is stored.
    pub(super) fn push_record(&mut self, input: Input, ack: Ack) {
        self.add(QueuedInput { ack: Some(ack), ..QueuedInput::new(input) });
    }

    /// Adds what an attempt says or asks; it waits for the answer.
    pub(super) fn push_exchange(&mut self, input: Input, heard: HeardAck) {
        self.add(QueuedInput { heard: Some(heard), ..QueuedInput::new(input) });
    }

    /// Adds the inputs of one inbox message. The last of them acknowledges it; false without inputs.
    pub(super) fn push_message(&mut self, id: i64, mut inputs: Vec<Input>) -> bool {
        let Some(last) = inputs.pop() else { return false };
        self.push_all(inputs);
        self.add(QueuedInput { message: Some(id), ..QueuedInput::new(last) });
        true
    }

    /// Whether inputs of this inbox message wait.
    pub(super) fn has_message(&self, id: i64) -> bool {
        let is_it = |queued: &Queued| match queued {
            Queued::Input(queued) => queued.message == Some(id),
            Queued::Evaluate(_) => false,
        };
        self.0.iter().any(is_it)
    }

    /// Removes the oldest entry. A queue that was long gives its memory back.
    pub(super) fn pop(&mut self) -> Option<Queued> {
        let oldest = self.0.pop_front();
        if self.0.is_empty() && self.0.capacity() > LONG {
            self.0 = VecDeque::new();
        }
        oldest
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
