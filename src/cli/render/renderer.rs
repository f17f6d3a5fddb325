use super::{jsonl, lines, live};
use crate::cli::terminal::Terminal;
use crate::service::Progress;
use crate::wire::Event;

/// How much of lines is kept back at most, until they are written.
pub(super) const BUFFER_BYTES: usize = 64 << 10;

/// How a run is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Display {
    /// What suits the terminal.
    Auto,
    /// One event a line, as data; with or without the model's words as they come.
    Json {
        /// Whether `step:token` events are written.
        tokens: bool,
    },
    /// Nothing until the summary.
    Quiet,
}

/// Shows a run while it runs. A stream that is closed never stops a run: what cannot be shown is in
/// the journal.
pub(in crate::cli) trait Renderer {
    /// Something happened.
    fn event(&mut self, event: &Event);
    /// Progress that is not stored.
    fn progress(&mut self, instance: &str, progress: &Progress);
    /// What was shown may be kept back until here, so that many lines are one write.
    fn flush(&mut self) {}
    /// A moment has passed.
    fn tick(&mut self) {}
    /// A word to the person at the terminal.
    fn note(&mut self, text: &str);
    /// Nothing more follows.
    fn close(&mut self) {}
    /// Whether tokens are wanted as events.
    fn wants_tokens(&self) -> bool {
        false
    }
}

/// The renderer for a display on this terminal.
pub(in crate::cli) fn renderer(display: Display, terminal: &Terminal) -> Box<dyn Renderer> {
    match display {
        Display::Json { tokens } => Box::new(jsonl::JsonLines::new(tokens)),
        Display::Quiet => Box::new(Quiet),
        Display::Auto if terminal.is_live() => Box::new(live::Live::new()),
        Display::Auto => Box::new(lines::PlainLines::new()),
    }
}

/// Shows nothing.
struct Quiet;

impl Renderer for Quiet {
    fn event(&mut self, _event: &Event) {}
    fn progress(&mut self, _instance: &str, _progress: &Progress) {}
    fn note(&mut self, text: &str) {
        let _ = Terminal::new().err(&format!("{text}\n"));
    }
}
