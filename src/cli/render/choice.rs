//! The choice of the display of a run.

use super::renderer::{Display, Renderer};
use super::{jsonl, lines, live};
use crate::cli::terminal::Terminal;
use kb_core::wire::Event;
use kb_service::service::{Clock, Progress};

/// The renderer for a display on this terminal. `steps` is the number of steps of the plan.
pub(in crate::cli) fn renderer(
    display: Display,
    steps: usize,
    terminal: &Terminal,
    clock: Clock,
) -> Box<dyn Renderer> {
    match display {
        Display::Json { tokens } => Box::new(jsonl::JsonLines::new(tokens, terminal.for_display())),
        Display::Quiet => Box::new(Quiet(terminal.for_display())),
        Display::Auto { output } if terminal.is_live() => {
            Box::new(live::Live::new(output, steps, clock))
        }
        Display::Auto { output } => {
            Box::new(lines::PlainLines::new(output, terminal.for_display(), clock))
        }
    }
}

/// A display that shows nothing.
struct Quiet(Terminal);

impl Renderer for Quiet {
    fn event(&mut self, _event: &Event) {}
    fn progress(&mut self, _instance: &str, _progress: &Progress) {}
    fn note(&mut self, text: &str) {
        let _ = self.0.err(&format!("{text}\n"));
    }
}
