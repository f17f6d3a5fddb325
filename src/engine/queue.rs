//! Inputs that wait for the next tick, in order of arrival.

use crate::attempt::Stopped;
use crate::run::Input;
use std::collections::VecDeque;
use tokio::sync::oneshot;

/// Tells an attempt whether its record was stored.
pub(super) type Ack = oneshot::Sender<Result<(), Stopped>>;

/// An input with the acknowledgements that follow once its events are stored.
pub(super) struct QueuedInput {
    pub(super) input: Input,
    /// The attempt that waits for its record.
    pub(super) ack: Option<Ack>,
    /// The inbox message that led to the input.
    pub(super) message: Option<i64>,
}

/// The queue. Its owner is the dispatcher.
#[derive(Default)]
pub(super) struct InputQueue(VecDeque<QueuedInput>);

impl InputQueue {
    /// Adds an input whose sender does not wait.
    pub(super) fn push(&mut self, input: Input) {
        self.0.push_back(QueuedInput { input, ack: None, message: None });
    }

    /// Adds inputs whose sender does not wait.
    pub(super) fn push_all(&mut self, inputs: Vec<Input>) {
        inputs.into_iter().for_each(|input| self.push(input));
    }

    /// Adds the record of an attempt that waits until it is stored.
    pub(super) fn push_record(&mut self, input: Input, ack: Ack) {
        self.0.push_back(QueuedInput { input, ack: Some(ack), message: None });
    }

    /// Adds the inputs of one inbox message. The last of them acknowledges it; false without inputs.
    pub(super) fn push_message(&mut self, id: i64, inputs: Vec<Input>) -> bool {
        let any = !inputs.is_empty();
        self.push_all(inputs);
        if let Some(last) = self.0.back_mut().filter(|_| any) {
            last.message = Some(id);
        }
        any
    }

    /// Whether inputs of this inbox message wait.
    pub(super) fn has_message(&self, id: i64) -> bool {
        self.0.iter().any(|queued| queued.message == Some(id))
    }

    /// Removes the oldest input.
    pub(super) fn pop(&mut self) -> Option<QueuedInput> {
        self.0.pop_front()
    }

    /// Whether no input waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
