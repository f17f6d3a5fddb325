//! Events as JSON lines.

use super::Renderer;
use super::renderer::BUFFER_BYTES;
use crate::cli::terminal::Terminal;
use kb_core::wire::Event;
use kb_service::service::Progress;

/// Prints public events as JSON lines to stdout.
pub(super) struct JsonLines {
    terminal: Terminal,
    tokens: bool,
    /// Whole lines that are not written yet.
    lines: Vec<u8>,
    closed: bool,
}

impl JsonLines {
    pub(super) fn new(tokens: bool, terminal: Terminal) -> Self {
        JsonLines { terminal, tokens, lines: Vec::new(), closed: false }
    }
}

impl Renderer for JsonLines {
    fn event(&mut self, event: &Event) {
        if self.closed {
            return;
        }
        let before = self.lines.len();
        match serde_json::to_writer(&mut self.lines, event) {
            Ok(()) => self.lines.push(b'\n'),
            Err(_) => self.lines.truncate(before),
        }
        if self.lines.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.lines.is_empty() {
            // `serde_json` writes UTF-8.
            let lines = String::from_utf8_lossy(&self.lines);
            self.closed = self.terminal.json_text(&lines).is_err();
            self.lines.clear();
        }
    }

    fn close(&mut self) {
        self.flush();
    }

    fn progress(&mut self, _instance: &str, _progress: &Progress) {}

    fn note(&mut self, text: &str) {
        let _ = self.terminal.err(&format!("{text}\n"));
    }

    fn wants_tokens(&self) -> bool {
        self.tokens
    }
}
