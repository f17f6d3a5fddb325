use super::{Renderer, line};
use crate::cli::terminal::Terminal;
use crate::service::Progress;
use crate::value::Timestamp;
use crate::wire::Event;

/// One line an event, on stderr, where there is no terminal to draw on.
pub(super) struct PlainLines {
    terminal: Terminal,
    began: Option<Timestamp>,
}

impl PlainLines {
    pub(super) fn new() -> Self {
        PlainLines { terminal: Terminal::new(), began: None }
    }
}

impl Renderer for PlainLines {
    fn event(&mut self, event: &Event) {
        let began = *self.began.get_or_insert(event.at);
        if let Some(text) = line(event, began) {
            // A closed stderr must not stop the run.
            let _ = self.terminal.err(&(text + "\n"));
        }
    }

    fn progress(&mut self, _instance: &str, _progress: &Progress) {}

    fn note(&mut self, text: &str) {
        let _ = self.terminal.err(&format!("{text}\n"));
    }
}
