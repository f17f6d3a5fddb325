//! The interface of displays of a run.

use super::step_output::OutputMode;
use kb_core::wire::Event;
use kb_service::service::Progress;
use std::time::Duration;

/// Size of buffered lines that causes a write, in bytes.
pub(super) const BUFFER_BYTES: usize = 64 << 10;

/// The kind of display of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Display {
    /// A live display or lines, depending on the terminal.
    Auto {
        /// Which output of steps is shown.
        output: OutputMode,
    },
    /// JSON lines on stdout.
    Json {
        /// Whether `step:token` events are printed.
        tokens: bool,
    },
    /// The summary only.
    Quiet,
}

/// Displays a run while it executes. A closed stream does not stop the run; its events are in the
/// journal.
pub(in crate::cli) trait Renderer {
    /// Shows an event of the run or of one of its child runs.
    fn event(&mut self, event: &Event);
    /// Shows the current activity of a step instance; it is not stored.
    fn progress(&mut self, instance: &str, progress: &Progress);
    /// Shows stored output of the process of an attempt that is about to end.
    fn output(&mut self, _instance: &str, _channel: &'static str, _text: &str) {}
    /// An event of an earlier process that drove the run. It is counted, not shown.
    fn replayed(&mut self, _event: &Event) {}
    /// Writes buffered lines.
    fn flush(&mut self) {}
    /// Redraws time-dependent parts.
    fn tick(&mut self) {}
    /// Leaves the screen to a question, or takes it back.
    fn pause(&mut self, _is_paused: bool) {}
    /// Shows a message to the user.
    fn note(&mut self, text: &str);
    /// Ends the display.
    fn close(&mut self) {}
    /// Sets how long the run is expected to take, if an earlier run says so.
    fn expect(&mut self, _duration: Option<Duration>) {}
    /// Whether [`Renderer::expect`] has an effect.
    fn wants_expectation(&self) -> bool {
        false
    }
    /// Whether model text is shown as events.
    fn wants_tokens(&self) -> bool {
        false
    }
}
