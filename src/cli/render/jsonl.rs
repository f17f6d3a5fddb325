use super::Renderer;
use crate::cli::terminal::Terminal;
use crate::service::Progress;
use crate::wire::Event;
use std::io::Write;

/// One public event a line, on stdout.
pub(super) struct JsonLines {
    tokens: bool,
    closed: bool,
}

impl JsonLines {
    pub(super) fn new(tokens: bool) -> Self {
        JsonLines { tokens, closed: false }
    }
}

impl Renderer for JsonLines {
    fn event(&mut self, event: &Event) {
        if self.closed {
            return;
        }
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut stdout = std::io::stdout().lock();
        self.closed = stdout.write_all(&line).and_then(|()| stdout.flush()).is_err();
    }

    fn progress(&mut self, _instance: &str, _progress: &Progress) {}

    fn note(&mut self, text: &str) {
        let _ = Terminal::new().err(&format!("{text}\n"));
    }

    fn wants_tokens(&self) -> bool {
        self.tokens
    }
}
