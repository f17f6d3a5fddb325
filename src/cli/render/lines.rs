//! Events as plain lines.

use super::renderer::BUFFER_BYTES;
use super::{Renderer, line};
use crate::cli::terminal::Terminal;
use crate::service::Progress;
use crate::value::Timestamp;
use crate::wire::Event;

/// Prints events as lines to stderr, without a live display.
pub(super) struct PlainLines {
    terminal: Terminal,
    /// Buffered lines.
    lines: String,
    began: Option<Timestamp>,
}

impl PlainLines {
    pub(super) fn new() -> Self {
        PlainLines { terminal: Terminal::new(), lines: String::new(), began: None }
    }
}

impl Renderer for PlainLines {
    fn event(&mut self, event: &Event) {
        let began = *self.began.get_or_insert(event.at);
        if let Some(text) = line(event, began) {
            self.lines.push_str(&text);
            self.lines.push('\n');
        }
        if self.lines.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.lines.is_empty() {
            // A closed stderr must not stop the run.
            let _ = self.terminal.err(&self.lines);
            self.lines.clear();
        }
    }

    fn close(&mut self) {
        self.flush();
    }

    fn progress(&mut self, _instance: &str, _progress: &Progress) {}

    fn note(&mut self, text: &str) {
        self.flush();
        let _ = self.terminal.err(&format!("{text}\n"));
    }
}
