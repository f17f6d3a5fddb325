//! The entries of a run's log.

use kb_base::value::Timestamp;
use kb_core::wire::Event;

/// One entry of a run's log.
#[derive(Debug, Clone)]
pub enum LogEntry {
    /// An event in its public form.
    Event(Box<Event>),
    /// Text of a process or model.
    Text {
        /// Time of the event that it belongs to.
        at: Timestamp,
        /// The step instance that it belongs to.
        instance: String,
        /// The id of the step.
        step: String,
        /// `stdout`, `stderr` or `model`; for a prompt `prompt`, `tools`, `schema` or the role of a
        /// message.
        channel: &'static str,
        /// The text, possibly of several lines.
        text: String,
    },
}
