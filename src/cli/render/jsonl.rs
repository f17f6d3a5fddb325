//! Events as JSON lines.

use super::Renderer;
use super::renderer::BUFFER_BYTES;
use crate::cli::escape::escaped_json;
use crate::cli::terminal::Terminal;
use kb_core::wire::Event;
use kb_service::service::Progress;
use std::io::{IsTerminal, Write};

/// Prints public events as JSON lines to stdout.
pub(super) struct JsonLines {
    tokens: bool,
    /// Whole lines that are not written yet.
    lines: Vec<u8>,
    closed: bool,
}

impl JsonLines {
    pub(super) fn new(tokens: bool) -> Self {
        JsonLines { tokens, lines: Vec::new(), closed: false }
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
            let mut stdout = std::io::stdout().lock();
            // `serde_json` writes UTF-8.
            let lines = String::from_utf8_lossy(&self.lines);
            let lines = if stdout.is_terminal() { escaped_json(&lines) } else { lines };
            let written = stdout.write_all(lines.as_bytes()).and_then(|()| stdout.flush());
            self.closed = written.is_err();
            self.lines.clear();
        }
    }

    fn close(&mut self) {
        self.flush();
    }

    fn progress(&mut self, _instance: &str, _progress: &Progress) {}

    fn note(&mut self, text: &str) {
        let _ = Terminal::new().err(&format!("{text}\n"));
    }

    fn wants_tokens(&self) -> bool {
        self.tokens
    }
}
